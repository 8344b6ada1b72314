package template

import (
	"context"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// New returns the feature on the ledger's database. find is as NewTemplates wants it.
func New(
	db *sqlkit.DB, find func(ctx context.Context, id int64) (voucher.Voucher, error), bodies httpkit.Bodies,
) feature.Feature {
	return feature.Feature{Routes: Routes(NewTemplates(db, find), bodies), Rules: Rules()}
}

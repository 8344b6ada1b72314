package report

import (
	"seckill/internal/feature"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature on the ledger's database.
func New(db *sqlkit.DB, core Core, members Members, http HTTP) feature.Feature {
	return feature.Feature{Routes: Routes(NewReports(db, core, members), http)}
}

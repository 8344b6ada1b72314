package wiring

import (
	"context"

	"seckill/internal/voucher"
)

// salePauser pauses sales for the auditor as an admin would. It implements audit.SalePauser.
type salePauser struct{ vouchers *voucher.Service }

func (b salePauser) Pause(ctx context.Context, voucherID int64) error {
	_, _, err := b.vouchers.Pause(ctx, voucher.Author{Request: "auditor"}, voucherID)
	return err
}

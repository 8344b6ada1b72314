package main

import (
	"context"

	"seckill/internal/voucher"
)

// brake stops sales for the auditor, as an admin would: order.Brake.
type brake struct{ vouchers *voucher.Service }

func (b brake) Pause(ctx context.Context, voucherID int64) error {
	_, _, err := b.vouchers.Pause(ctx, voucher.Author{Request: "auditor"}, voucherID)
	return err
}

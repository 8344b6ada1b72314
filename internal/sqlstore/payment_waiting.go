package sqlstore

import (
	"context"

	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
)

// RefundsWaiting counts, by the name of their provider, the refunds that the provider is to be asked for, or about:
// those of all that is left of a payment, and of parts.
func (s Payments) RefundsWaiting(ctx context.Context) (map[string]int64, error) {
	const what = "counting the refunds that wait"
	type row struct {
		Provider string
		N        int64
	}
	waiting := map[string]int64{}
	var all, parts []row
	err := s.db.Read(ctx).Table("tb_payment").Select("provider, COUNT(*) AS n").
		Where("state = ?", payment.Refunding).Group("provider").Find(&all).Error
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	err = s.db.Read(ctx).Table("tb_refund r").Select("p.provider, COUNT(*) AS n").
		Joins("JOIN tb_payment p ON p.id = r.payment_id").
		Where("r.state IN ? AND p.state <> ?", []payment.RefundState{payment.RefundAsked, payment.RefundPending},
			payment.Refunding).
		Group("p.provider").Find(&parts).Error
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	for _, r := range append(all, parts...) {
		waiting[r.Provider] += r.N
	}
	return waiting, nil
}

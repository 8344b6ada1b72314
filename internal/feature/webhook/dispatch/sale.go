package dispatch

import (
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// saleData is a sale after the event.
type saleData struct {
	VoucherID int64        `json:"voucherId"`
	ShopID    int64        `json:"shopId"`
	CalledOff *moment.Time `json:"callOffTime"`
	EndTime   *moment.Time `json:"endTime"`
	Issued    int64        `json:"issued"` // units
}

// EventOfCallOff returns the event that a voucher's sale was called off. Its number is that of the sale's operation.
func EventOfCallOff(v voucher.Voucher) (Event, error) {
	s := v.Sale
	e := Event{
		ShopID: v.ShopID, Subject: order.SubjectOfSale(v.ID), SubjectNumber: s.LastOperation, Type: SaleCalledOff,
		At: s.CalledOff,
	}
	return e.withBody(saleData{
		VoucherID: v.ID, ShopID: v.ShopID, CalledOff: moment.OrNil(s.CalledOff), EndTime: moment.OrNil(s.End),
		Issued: s.Issued,
	})
}

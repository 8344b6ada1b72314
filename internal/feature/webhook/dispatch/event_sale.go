package dispatch

import (
	"time"

	"seckill/internal/kit/moment"
	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Types of events about a voucher's sale. The last four come once.
const (
	SaleCreated Type = "sale.created"
	SaleChanged Type = "sale.changed" // its voucher's texts, its window, its stock, or whether it is paused
	SaleStarted Type = "sale.started"
	SaleSoldOut Type = "sale.sold_out" // for the first time: units may come back
	SaleEnded   Type = "sale.ended"
	// SaleCalledOff: the sale's orders get events of their own, as they are cancelled and refunded. The sale neither
	// starts nor ends any more.
	SaleCalledOff Type = "sale.called_off"
)

// saleData is a sale after the event, with the names that GET /admin/voucher uses.
type saleData struct {
	VoucherID   int64        `json:"voucherId"`
	ShopID      int64        `json:"shopId"`
	CalledOff   *moment.Time `json:"callOffTime,omitempty"`
	EndTime     *moment.Time `json:"endTime"`
	Issued      int64        `json:"issued"` // units
	BeginTime   *moment.Time `json:"beginTime"`
	Title       string       `json:"title"`
	PayValue    int64        `json:"payValue"`    // in the currency's least unit
	ActualValue int64        `json:"actualValue"` // in the currency's least unit
	Currency    string       `json:"currency"`
	Paused      bool         `json:"paused,omitempty"` // or off the shelf
}

// EventOfSale returns an event about a voucher's sale, whose prices are in the currency.
func EventOfSale(
	v voucher.Voucher, currency string, t Type, number int64, at time.Time, by trace.Parent,
) (Event, error) {
	s := v.Sale
	e := Event{ShopID: v.ShopID, Subject: order.SubjectOfSale(v.ID), SubjectNumber: number, Type: t, At: at}
	return e.withBody(saleData{
		VoucherID: v.ID, ShopID: v.ShopID, CalledOff: moment.OrNil(s.CalledOff), EndTime: moment.OrNil(s.End),
		Issued: s.Issued, BeginTime: moment.OrNil(s.Begin), Title: v.Title, PayValue: v.PayValue,
		ActualValue: v.ActualValue, Currency: currency, Paused: s.Paused || !v.Listed(),
	}, by)
}

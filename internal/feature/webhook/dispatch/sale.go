package dispatch

import (
	"encoding/json"
	"fmt"
	"time"

	"seckill/internal/voucher"
)

// saleData is a sale after the event.
type saleData struct {
	VoucherID int64      `json:"voucherId"`
	Number    int64      `json:"number"`
	ShopID    int64      `json:"shopId"`
	CalledOff *time.Time `json:"calledOff"`
	EndTime   *time.Time `json:"endTime"`
	Issued    int64      `json:"issued"` // units
}

// EventOfCallOff returns the event that a voucher's sale was called off. Its number is that of the sale's operation,
// and where events name a place, it has the sale's list, which shares these numbers.
func EventOfCallOff(v voucher.Voucher) (Event, error) {
	s := v.Sale
	e := Event{
		ShopID: v.ShopID, OrderID: PlaceID{VoucherID: v.ID}.Key(), OrderNumber: s.LastOperation, Type: SaleCalledOff,
		At: s.CalledOff,
	}
	var err error
	if e.Body, err = json.Marshal(payload{Type: e.Type, Timestamp: e.At.UTC(), Data: saleData{
		VoucherID: v.ID, Number: e.OrderNumber, ShopID: v.ShopID, CalledOff: shown(s.CalledOff), EndTime: shown(s.End),
		Issued: s.Issued,
	}}); err != nil {
		return Event{}, fmt.Errorf("event %s: %w", e.ID(), err)
	}
	return e, nil
}

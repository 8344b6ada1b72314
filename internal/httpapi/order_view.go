package httpapi

import (
	"context"
	"strconv"
	"time"

	"seckill/internal/order"
)

// orderJSON is an order as its owner reads it. What has not happened is absent; so is the amount of an order without
// a row, which is copied from the voucher when the row is written.
type orderJSON struct {
	ID            string     `json:"id"` // a string, because ids go beyond what JavaScript counts exactly
	VoucherID     int64      `json:"voucherId"`
	UserID        int64      `json:"userId"`
	Status        string     `json:"status"`
	Amount        *int64     `json:"amount,omitempty"` // cents
	Reason        string     `json:"reason,omitempty"` // why it failed
	CreateTime    *time.Time `json:"createTime,omitempty"`
	PayBefore     *time.Time `json:"payBefore,omitempty"` // an order that is unpaid then is closed
	PayTime       *time.Time `json:"payTime,omitempty"`
	RedeemTime    *time.Time `json:"redeemTime,omitempty"`
	CancelTime    *time.Time `json:"cancelTime,omitempty"`
	RefundingTime *time.Time `json:"refundingTime,omitempty"`
	RefundTime    *time.Time `json:"refundTime,omitempty"`
	FailTime      *time.Time `json:"failTime,omitempty"`
	// History is there when the order is asked for alone.
	History []eventJSON `json:"history,omitempty"`
}

// eventJSON is one line of an order's history.
type eventJSON struct {
	Status string      `json:"status"` // the order's from then on
	At     time.Time   `json:"at"`
	By     order.Actor `json:"by"`
	Why    string      `json:"why,omitempty"`
}

func orderView(o order.Order) orderJSON {
	v := orderJSON{
		ID: strconv.FormatInt(o.ID, 10), VoucherID: o.VoucherID, UserID: o.UserID,
		Status: o.Status.String(), Reason: string(o.Reason),
		CreateTime: timeView(o.CreatedAt), PayBefore: timeView(o.PayBefore), PayTime: timeView(o.PaidAt), RedeemTime: timeView(o.RedeemedAt),
		CancelTime: timeView(o.CancelledAt), RefundingTime: timeView(o.RefundingAt), RefundTime: timeView(o.RefundedAt),
		FailTime: timeView(o.FailedAt),
	}
	if o.Status != order.Queued && o.Status != order.Failed && o.Status != order.StatusUnknown {
		v.Amount = &o.Amount
	}
	return v
}

// withHistory is an order as it is shown alone.
func (a *API) withHistory(ctx context.Context, o order.Order) (orderJSON, error) {
	v := orderView(o)
	if a.cfg.Clerk == nil {
		return v, nil
	}
	events, err := a.cfg.Clerk.History(ctx, o)
	if err != nil {
		return orderJSON{}, err
	}
	v.History = make([]eventJSON, len(events))
	for i, e := range events {
		v.History[i] = eventJSON{Status: e.Status.String(), At: shownTime(e.At), By: e.By, Why: e.Why}
	}
	return v, nil
}

// timeView is a time as it is shown, or nil for one that has not come.
func timeView(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = shownTime(t)
	return &t
}

// shownTime is a time as it is shown, RFC 3339 in UTC. None is finer than milliseconds, which is what the ledger keeps
// and JavaScript knows; the clock that serverTime comes from is finer.
func shownTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

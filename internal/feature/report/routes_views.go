package report

import (
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// salesJSON is a page of sales.
type salesJSON struct {
	Currency string              `json:"currency"`
	Sums     map[Phase]SalesSums `json:"sums"` // over all sales of each phase
	Sales    []saleLineJSON      `json:"sales"`
}

type saleLineJSON struct {
	VoucherID int64         `json:"voucherId"`
	ShopID    int64         `json:"shopId"`
	ShopName  string        `json:"shopName,omitempty"` // absent: it has none
	Title     string        `json:"title"`
	BeginTime httpkit.Time  `json:"beginTime"`
	EndTime   httpkit.Time  `json:"endTime"`
	Phase     Phase         `json:"phase"`
	CalledOff *httpkit.Time `json:"callOffTime,omitempty"` // absent: the sale was not called off
	SalesSums
}

// reportJSON is the JSON form of a report.
type reportJSON struct {
	At        httpkit.Time `json:"at"`
	VoucherID int64        `json:"voucherId"`
	ShopID    int64        `json:"shopId"`
	ShopName  string       `json:"shopName,omitempty"` // absent: it has none
	Title     string       `json:"title"`
	PayValue  int64        `json:"payValue"` // in the currency's least unit
	*saleJSON
	PurgeTime    *httpkit.Time `json:"purgeTime,omitempty"` // absent: nothing was purged
	PurgedOrders int64         `json:"purgedOrders,omitempty"`

	Waitlist any `json:"waitlist,omitempty"` // absent if the sale has no waiting list
	Guards   any `json:"guards,omitempty"`   // absent if the sale has none and nothing was counted
	// GuardsUnread says that the guards' figures could not be read.
	GuardsUnread bool `json:"guardsUnread,omitempty"`
	Journal      any  `json:"journal,omitempty"` // absent if nothing was noted
	// JournalUnread says that it could not be read in time.
	JournalUnread bool `json:"journalUnread,omitempty"`

	Orders   map[string]Tally `json:"orders"`   // by their present state; each recorded order is in one tally
	Recorded Tally            `json:"recorded"` // all orders
	// UnderWay counts the unpaid orders whose money is under way: they hold their units for longer.
	UnderWay Tally  `json:"underWay"`
	Sold     Tally  `json:"sold"` // orders that have their units
	Currency string `json:"currency"`
	Received int64  `json:"receivedAmount"`  // cents that providers have taken, also late and twice
	Returned int64  `json:"returnedAmount"`  // cents that have gone back, as refunds and by disputes
	Refunded int64  `json:"refundedAmount"`  // cents that have gone back as refunds
	Lost     int64  `json:"lostAmount"`      // cents that disputes have cost
	Kept     int64  `json:"keptAmount"`      // cents that were received and have not gone back
	Over     int64  `json:"overdrawnAmount"` // cents that have gone back of payments beyond what came in
	Stuck    int64  `json:"stuckAmount"`     // cents of Kept that providers refuse to send back, for good
	Closed   int64  `json:"closedAmount"`    // cents of Kept whose refund staff have closed
	Revenue  int64  `json:"revenue"`         // cents of orders that are paid and not being refunded
}

// saleJSON is the part of a report that ordinary vouchers do not have.
type saleJSON struct {
	BeginTime httpkit.Time `json:"beginTime"`
	EndTime   httpkit.Time `json:"endTime"`
	Issued    int64        `json:"issued"`
	Stock     int64        `json:"stock"` // units without a live order, in the ledger
	// CalledOff is when the sale was called off. Its stock is withdrawn then: never for sale again.
	CalledOff *httpkit.Time `json:"callOffTime,omitempty"`
	Withdrawn int64         `json:"withdrawn"`

	Asked    int64            `json:"asked"`                       // requests
	Accepted int64            `json:"accepted"`                    // requests
	Refused  map[string]int64 `json:"refused"`                     // requests, by code
	P99MS    float64          `json:"p99Ms,omitempty"`             // 99 % of the answers took less; absent: not known
	Spoilt   int64            `json:"unreadableMinutes,omitempty"` // minutes of the timeline that are left out

	FirstAccepted  *httpkit.Time `json:"firstAcceptedTime,omitempty"`
	LastAccepted   *httpkit.Time `json:"lastAcceptedTime,omitempty"`
	SoldOut        *httpkit.Time `json:"soldOutTime,omitempty"`
	SoldOutSeconds *int64        `json:"soldOutSeconds,omitempty"` // after the first acceptance

	StepSeconds int64       `json:"stepSeconds"` // the distance between points of the timeline
	Timeline    []pointJSON `json:"timeline"`
}

// pointJSON is the JSON form of a point.
type pointJSON struct {
	At       httpkit.Time     `json:"at"`
	Accepted int64            `json:"accepted"`
	Refused  map[string]int64 `json:"refused,omitempty"` // by code
	P99MS    float64          `json:"p99Ms,omitempty"`   // 99 % of these answers took less; absent: not known
}

// byState returns the tallies by the names of their orders' states.
func (s Sums) byState() map[string]Tally {
	return map[string]Tally{
		"unpaid": s.Unpaid, "paid": s.Paid, "redeemed": s.Redeemed, "lapsed": s.Lapsed, "refunding": s.Refunding,
		"refunded": s.Refunded, "cancelled": s.Cancelled, "expired": s.Expired, "failed": s.Failed,
	}
}

func reportView(r Report, currency string, now time.Time) reportJSON {
	v := reportJSON{
		At: httpkit.ShownTime(now), VoucherID: r.Voucher.ID, ShopID: r.Voucher.ShopID, Title: r.Voucher.Title,
		PayValue: r.Voucher.PayValue, Orders: r.Sums.byState(), Recorded: r.Sums.Recorded(),
		UnderWay: r.Sums.Processing,
		Sold:     r.Sums.Sold(), Currency: currency, Received: r.Sums.Money.Received,
		Returned: r.Sums.Money.Returned, Kept: r.Sums.Money.Kept(),
		Refunded: r.Sums.Money.Refunded(), Lost: r.Sums.Money.Lost, Over: r.Sums.Money.Overdrawn,
		Stuck: r.Sums.Money.Stuck, Closed: r.Sums.Money.Closed, Revenue: r.Sums.Earned().Cents,
		PurgeTime: httpkit.TimeView(r.Sums.Purge.At), PurgedOrders: r.Sums.Purge.Orders,
		Waitlist: r.Waitlist, Guards: r.Guards.Shown, GuardsUnread: r.Guards.Unread,
		Journal: r.Journal.Shown, JournalUnread: r.Journal.Unread,
	}
	if sale := r.Voucher.Sale; sale != nil {
		v.saleJSON = saleView(r, sale)
	}
	return v
}

func saleView(r Report, sale *voucher.Sale) *saleJSON {
	v := &saleJSON{
		BeginTime: httpkit.ShownTime(sale.Begin), EndTime: httpkit.ShownTime(sale.End), Issued: r.Sums.Issued,
		Stock: r.Sums.Stock, Spoilt: r.Spoilt, FirstAccepted: httpkit.TimeView(r.FirstAccepted),
		LastAccepted: httpkit.TimeView(r.LastAccepted), SoldOut: httpkit.TimeView(r.SoldOut),
		StepSeconds: int64(r.Step / time.Second), Timeline: make([]pointJSON, len(r.Points)),
	}
	if sale.IsCalledOff() {
		v.CalledOff, v.Withdrawn = httpkit.TimeView(sale.CalledOff), r.Sums.Stock
	}
	v.Accepted, v.Refused = split(r.Answers)
	v.Asked, v.P99MS = v.Accepted, httpkit.P99(r.Took)
	for _, n := range v.Refused {
		v.Asked += n
	}
	if !r.SoldOut.IsZero() && !r.FirstAccepted.IsZero() {
		seconds := max(0, int64(r.SoldOut.Sub(r.FirstAccepted)/time.Second))
		v.SoldOutSeconds = &seconds
	}
	for i, p := range r.Points {
		accepted, refused := split(p.Counts)
		v.Timeline[i] = pointJSON{httpkit.ShownTime(p.At), accepted, refused, httpkit.P99(p.Took)}
	}
	return v
}

// split returns how many requests were accepted, and how many were refused, by code.
func split(counts gate.Counts) (accepted int64, refused map[string]int64) {
	refused = make(map[string]int64)
	for answer, n := range counts {
		if answer == gate.Accepted.Answer() {
			accepted = n
		} else {
			refused[httpkit.CodeOf(answer)] = n
		}
	}
	return accepted, refused
}

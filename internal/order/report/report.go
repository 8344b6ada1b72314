package report

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/timeline"
	"seckill/internal/voucher"
)

// Tally is a number of orders, with their units and what they cost.
type Tally struct{ Orders, Units, Cents int64 }

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Orders + o.Orders, t.Units + o.Units, t.Cents + o.Cents}
}

// Sums are what the ledger has of a voucher at one moment. The tallies are by what orders are now: each recorded
// order is in one.
type Sums struct {
	Stock, Issued int64 // 0 without a sale

	Unpaid, Paid, Redeemed, Lapsed, Refunding, Refunded Tally
	Cancelled                                           Tally // before their payment deadline
	Expired                                             Tally // cancelled at their payment deadline or later
	Failed                                              Tally // accepted, and could not be recorded
}

// Recorded are all orders.
func (s Sums) Recorded() Tally {
	return s.Sold().plus(s.Refunded).plus(s.Cancelled).plus(s.Expired).plus(s.Failed)
}

// Sold are the orders that have their units.
func (s Sums) Sold() Tally {
	return s.Unpaid.plus(s.Paid).plus(s.Redeemed).plus(s.Lapsed).plus(s.Refunding)
}

// Received are the orders that were paid for, also if the money went back since.
func (s Sums) Received() Tally { return s.Earned().plus(s.Refunding).plus(s.Refunded) }

// Earned are the orders that are paid for, and whose money is not on its way back: the revenue.
func (s Sums) Earned() Tally { return s.Paid.plus(s.Redeemed).plus(s.Lapsed) }

// Waitlist is what the waiting list of a sale has come to, in places. A place is offered a unit once at most.
type Waitlist struct {
	Joined   int64 // all of them
	Waiting  int64 // that wait now
	Offered  int64 // that were offered a unit: Open + Bought + Passed
	Open     int64 // whose offer stands, or is accepted and not decided yet
	Accepted int64 // whose offer was accepted
	Bought   int64 // whose offer became an order
	Passed   int64 // whose offer ended without one: declined, missed, refused or over
}

// Point is how the requests of some seconds were answered.
type Point struct {
	At     time.Time
	Counts order.Counts
}

// Report is what a sale has left behind.
type Report struct {
	Voucher voucher.Voucher
	Sums    Sums
	Answers order.Counts // of all requests, by all instances
	// Waitlist is nil where the sale has no waiting list.
	Waitlist *Waitlist
	// Guards is what the sale's guards did; GuardsUnread says that it could not be read.
	Guards       guard.Figures
	GuardsUnread bool
	// Spoilt is how many rows of the timeline cannot be read and are left out.
	Spoilt int64

	// FirstAccepted and LastAccepted are the seconds in which the first and the last request were accepted, and
	// SoldOut that in which the first was refused because nothing was left; zero without any.
	FirstAccepted, LastAccepted, SoldOut time.Time

	Step   time.Duration // of the points: a second where they fit
	Points []Point       // those in which something was asked, in order
}

// Ledger is what reports are made from.
type Ledger interface {
	// Voucher returns one voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
	// MinuteTotals returns the totals of the sale's minutes after the given place, in the order of start and run, at
	// most limit.
	MinuteTotals(ctx context.Context, voucherID int64, after Place, limit int) ([]MinuteTotal, error)
	// Minutes returns the sale's minutes that start from the one time to before the other, after the given place, in
	// the order of start and run, at most limit. Counts is nil in one that cannot be read.
	Minutes(ctx context.Context, voucherID int64, from, to time.Time, after Place, limit int) ([]timeline.Minute, error)
	// ExportRows returns the voucher's orders with an id above after, in the order of their ids, at most limit.
	ExportRows(ctx context.Context, voucherID, after int64, limit int) ([]ExportRow, error)
	SumsLedger
	SalesLedger
}

// SumsLedger is the part of it that adds up, each by one statement.
type SumsLedger interface {
	// Sums returns what became of the voucher's orders.
	Sums(ctx context.Context, voucherID int64) (Sums, error)
	// Waitlist returns what the sale's waiting list has come to.
	Waitlist(ctx context.Context, voucherID int64) (Waitlist, error)
}

// Place is where a minute stands among those of its sale.
type Place struct {
	Start time.Time
	Run   int64
}

// MinuteTotal is a minute without its seconds. Counts is nil in one that cannot be read.
type MinuteTotal struct {
	Place
	Counts order.Counts
}

// PlaceOf returns where the minute stands.
func PlaceOf(m timeline.Minute) Place { return Place{m.Start, m.Run} }

const (
	pageRows   = 500              // of the timeline, in one query
	maxPoints  = 1200             // of a report
	around     = 5 * time.Minute  // before the begin and after the end of a sale that points show
	readWithin = 30 * time.Second // one report at most
)

// Reports makes reports of vouchers.
type Reports struct {
	ledger Ledger
	guards GuardFigures
}

// NewReports returns reports from the ledger, with the figures of guards.
func NewReports(ledger Ledger, guards GuardFigures) *Reports { return &Reports{ledger, guards} }

// Of returns the report of a voucher; of an ordinary one it has no timeline. voucher.ErrNotFound,
// order.ErrUnavailable. It reads the voucher's orders once, by one statement, and its timeline page by page; its
// memory does not grow with them.
func (r *Reports) Of(ctx context.Context, voucherID int64) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	v, err := r.ledger.Voucher(ctx, voucherID)
	if err != nil {
		return Report{}, order.OrUnavailable(err)
	}
	made := Report{Voucher: v, Answers: order.Counts{}, Step: time.Second}
	if made.Sums, err = r.ledger.Sums(ctx, voucherID); err == nil && v.Sale != nil {
		err = r.addTimeline(ctx, &made)
	}
	if err == nil && v.Sale != nil && v.Sale.HasWaitlist() {
		made.Waitlist = new(Waitlist)
		*made.Waitlist, err = r.ledger.Waitlist(ctx, voucherID)
	}
	if err != nil {
		return Report{}, order.OrUnavailable(fmt.Errorf("the report of voucher %d: %w", voucherID, err))
	}
	if v.Sale != nil {
		r.addGuards(ctx, &made)
	}
	return made, nil
}

// addTimeline reads the totals of all minutes, and then the seconds of as many as points are shown of.
func (r *Reports) addTimeline(ctx context.Context, made *Report) error {
	w := newWindow(made.Voucher.Sale)
	var first, last, soldOut time.Time // minutes
	err := r.totals(ctx, made.Voucher.ID, func(m MinuteTotal) {
		if m.Counts == nil {
			made.Spoilt++
			return
		}
		for answer, n := range m.Counts {
			made.Answers[answer] += n
		}
		w.see(m.Start)
		if m.Counts[order.Accepted.Answer()] > 0 {
			last = m.Start
			if first.IsZero() {
				first = m.Start
			}
		}
		if soldOut.IsZero() && m.Counts[order.SoldOut.Answer()] > 0 {
			soldOut = m.Start
		}
	})
	if err != nil {
		return err
	}
	id := made.Voucher.ID
	if made.FirstAccepted, _, err = r.seconds(ctx, id, first, order.Accepted); err == nil {
		_, made.LastAccepted, err = r.seconds(ctx, id, last, order.Accepted)
	}
	if err == nil {
		made.SoldOut, _, err = r.seconds(ctx, id, soldOut, order.SoldOut)
	}
	if err != nil {
		return err
	}
	made.Step = w.step()
	made.Points, err = r.points(ctx, id, w)
	return err
}

// seconds returns the first and the last second of a minute with such an outcome; zero times for the zero minute.
func (r *Reports) seconds(
	ctx context.Context, voucherID int64, start time.Time, outcome order.Outcome,
) (first, last time.Time, err error) {
	if start.IsZero() {
		return first, last, nil
	}
	err = r.minutes(ctx, voucherID, start, start.Add(time.Minute), func(m timeline.Minute) error {
		for second, n := range secondsOf(m, outcome.Answer()) {
			at := m.Start.Add(time.Duration(second) * time.Second)
			if n == 0 {
				continue
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
		return nil
	})
	return first, last, err
}

func secondsOf(m timeline.Minute, answer order.Answer) timeline.Seconds {
	if s := m.Counts[answer]; s != nil {
		return *s
	}
	return timeline.Seconds{}
}

// points returns the points of the window.
func (r *Reports) points(ctx context.Context, voucherID int64, w *window) ([]Point, error) {
	if w.empty() {
		return nil, nil
	}
	step, points := w.step(), []Point(nil)
	add := func(at time.Time, answer order.Answer, n int64) {
		at = at.Truncate(step)
		i := len(points) // rows of several runs overlap within a minute: the point is one of the last
		for i > 0 && points[i-1].At.After(at) {
			i--
		}
		if i == 0 || !points[i-1].At.Equal(at) {
			points = append(points[:i], append([]Point{{at, order.Counts{}}}, points[i:]...)...)
			i++
		}
		points[i-1].Counts[answer] += n
	}
	if step >= time.Minute { // the seconds are most of what there is to read
		err := r.totals(ctx, voucherID, func(m MinuteTotal) {
			for answer, n := range m.Counts {
				if !m.Start.Before(w.from) && m.Start.Before(w.to) {
					add(m.Start, answer, n)
				}
			}
		})
		return points, err
	}
	err := r.minutes(ctx, voucherID, w.from, w.to, func(m timeline.Minute) error {
		for answer, seconds := range m.Counts {
			for second, n := range seconds {
				if n > 0 {
					add(m.Start.Add(time.Duration(second)*time.Second), answer, n)
				}
			}
		}
		return nil
	})
	return points, err
}

// totals calls f with the totals of each minute of the sale, in order.
func (r *Reports) totals(ctx context.Context, voucherID int64, f func(MinuteTotal)) error {
	for after := (Place{}); ; {
		page, err := r.ledger.MinuteTotals(ctx, voucherID, after, pageRows)
		if err != nil {
			return err
		}
		for _, m := range page {
			f(m)
			after = m.Place
		}
		if len(page) < pageRows {
			return nil
		}
	}
}

// minutes calls f with each minute of the sale that starts in the time and can be read, in order, until it fails.
func (r *Reports) minutes(
	ctx context.Context, voucherID int64, from, to time.Time, f func(timeline.Minute) error,
) error {
	for after := (Place{}); ; {
		page, err := r.ledger.Minutes(ctx, voucherID, from, to, after, pageRows)
		if err != nil {
			return err
		}
		for _, m := range page {
			if after = PlaceOf(m); m.Counts == nil {
				continue
			}
			if err := f(m); err != nil {
				return err
			}
		}
		if len(page) < pageRows {
			return nil
		}
	}
}

// window is the time that the points of a report show: that of the sale, with a few minutes around it, as far as
// something was asked; everything, where nothing was asked then.
type window struct {
	least, most time.Time // of the sale
	from, to    time.Time // minutes, to is exclusive; zero while nothing was seen
}

func newWindow(sale *voucher.Sale) *window {
	return &window{least: sale.Begin.Add(-around).Truncate(time.Minute), most: sale.End.Add(around)}
}

func (w *window) empty() bool { return w.from.IsZero() }

// see extends the window to a minute in which something was asked.
func (w *window) see(start time.Time) {
	if start.Before(w.least) || !start.Before(w.most) {
		return
	}
	if w.empty() || start.Before(w.from) {
		w.from = start
	}
	if end := start.Add(time.Minute); end.After(w.to) {
		w.to = end
	}
}

// step returns how far apart the points are, so that they are not too many.
func (w *window) step() time.Duration {
	span := w.to.Sub(w.from)
	for _, step := range []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
		time.Hour, 6 * time.Hour,
	} {
		if span <= maxPoints*step {
			return step
		}
	}
	return 24 * time.Hour
}

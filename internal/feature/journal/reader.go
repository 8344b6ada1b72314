package journal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	around    = 5 * time.Minute // spans that are shown lie at most so far from a refusal
	mostShown = 20              // spans that are shown of one sale, beside a refusal
	near      = 5 * time.Second // around the first time that a sale was sold out, its report counts tenths of a second
)

// OrdersOf is feature.Redis.OrdersOf.
type OrdersOf func(ctx context.Context, sale order.SaleRef, users []int64) ([]int64, error)

// Reader answers why a user got nothing.
type Reader struct {
	journal *Journal // nil: this instance remembers nothing
	rows    Ledger
	held    OrdersOf
}

// NewReader returns a reader of what is written and, unless journal is nil, of what this instance remembers.
func NewReader(journal *Journal, rows Ledger, held OrdersOf) *Reader {
	return &Reader{journal, rows, held}
}

// Why is what is known of a user in a sale.
type Why struct {
	OrderID int64 // 0: they have had none
	Status  order.Status
	Refusal *Refusal // the first one; nil: none is known
	Moments
}

// Moments are what all instances noted of a sale.
type Moments struct {
	FirstSoldOut time.Time // zero: never, as far as is known
	SoldOut      []Span    // merged, in order
	More         int64     // spans without room
	Ran, Wrote   int       // instances that noted something of the sale, and those that have written all of it
	Users        int64     // refusals that they noted
	Unwritten    int64     // of those, refusals that are not written yet, or were lost with an instance
	Missed       int64     // refusals without room
}

// Of returns why a user has or has not got something in a voucher's sale. Errors: voucher.ErrNotSeckill,
// order.ErrUnavailable.
func (r *Reader) Of(ctx context.Context, v voucher.Voucher, userID int64) (w Why, err error) {
	if v.Sale == nil {
		return w, voucher.ErrNotSeckill
	}
	if w.OrderID, w.Status, err = r.order(ctx, v, userID); err != nil {
		return w, order.OrUnavailable(err)
	}
	if w.Refusal, err = r.refusal(ctx, v.ID, userID); err != nil {
		return w, order.OrUnavailable(err)
	}
	if w.Moments, err = r.moments(ctx, v.ID); err != nil {
		return w, err
	}
	w.SoldOut = shown(w.SoldOut, w.Refusal)
	return w, nil
}

// order returns the user's order in the sale, queued ones included; 0 if they have had none.
func (r *Reader) order(ctx context.Context, v voucher.Voucher, userID int64) (id int64, s order.Status, err error) {
	id, s, err = r.rows.order(ctx, v.ID, userID)
	if err != nil || id != 0 && s.Live() || v.Sale.Retired {
		return id, s, err
	}
	held, err := r.held(ctx, order.SaleOf(v), []int64{userID})
	if err == nil && held[0] != 0 && held[0] != id {
		id, s = held[0], order.Queued
	}
	return id, s, err
}

// refusal returns the user's earliest refusal, of those that are written and those in memory; nil if none is known.
func (r *Reader) refusal(ctx context.Context, voucherID, userID int64) (*Refusal, error) {
	first, found, err := r.rows.refusal(ctx, voucherID, userID)
	if err != nil {
		return nil, err
	}
	if r.journal != nil {
		if here, known := r.journal.Find(voucherID, userID); known && (!found || here.At.Before(first.At)) {
			first, found = here, true
		}
	}
	if !found {
		return nil, nil //nolint:nilnil // nothing is known, and nothing is wrong
	}
	return &first, nil
}

// shown returns the spans around a refusal, or without one the first.
func shown(all []Span, r *Refusal) []Span {
	if r != nil {
		all = slices.DeleteFunc(all, func(s Span) bool {
			return s.To.Before(r.At.Add(-around)) || s.From.After(r.At.Add(around))
		})
		// The nearest come first, then all are in order again.
		away := func(s Span) time.Duration { return max(s.From.Sub(r.At), r.At.Sub(s.To), 0) }
		slices.SortStableFunc(all, func(a, b Span) int { return cmp.Compare(away(a), away(b)) })
	}
	all = all[:min(len(all), mostShown)]
	slices.SortFunc(all, func(a, b Span) int { return a.From.Compare(b.From) })
	return all
}

// moments reads what all instances noted of a sale.
func (r *Reader) moments(ctx context.Context, voucherID int64) (m Moments, err error) {
	notes, err := r.rows.notes(ctx, voucherID)
	if err != nil {
		return m, order.OrUnavailable(err)
	}
	if r.journal != nil {
		if here, known := r.journal.Note(voucherID); known {
			notes = append(slices.DeleteFunc(notes, func(n Note) bool { return n.Run == here.Run }), here)
		}
	}
	var spans []Span
	for _, n := range notes {
		m.Ran++
		if n.Written == n.Users {
			m.Wrote++
		}
		m.Users += n.Users
		m.Unwritten += n.Users - n.Written
		m.Missed += n.Missed
		m.More += n.MoreSpans
		spans = append(spans, n.Spans...)
	}
	if m.SoldOut = merge(spans); len(m.SoldOut) > 0 {
		m.FirstSoldOut = m.SoldOut[0].From
	}
	return m, nil
}

// merge returns the union of spans, in order.
func merge(spans []Span) (merged []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && !s.From.After(merged[last].To) {
			if s.To.After(merged[last].To) {
				merged[last].To = s.To
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// Figures are what a report shows of a sale.
type Figures struct {
	Moments
	Tenths []Tenth // around the first time that it was sold out
}

// Figures returns the figures of a sale; nil if nothing was noted. Error: order.ErrUnavailable.
func (r *Reader) Figures(ctx context.Context, voucherID int64) (*Figures, error) {
	m, err := r.moments(ctx, voucherID)
	if err != nil || m.Ran == 0 {
		return nil, err
	}
	f := &Figures{Moments: m}
	if !m.FirstSoldOut.IsZero() {
		f.Tenths, err = r.rows.tenths(ctx, voucherID, m.FirstSoldOut.Add(-near), m.FirstSoldOut.Add(near))
	}
	return f, order.OrUnavailable(err)
}

package report

import (
	"context"
	"slices"
	"time"

	"seckill/internal/kit/histogram"
	"seckill/internal/order/gate"
	"seckill/internal/order/timeline"
	"seckill/internal/voucher"
)

const (
	minutesPage = 500             // rows of the timeline, in one query
	maxPoints   = 1200            // how many points a report has at most
	margin      = 5 * time.Minute // points also show this time before and after the sale
)

// place is the position of a minute among the minutes of its sale.
type place struct {
	start time.Time
	run   int64
}

func placeOf(m timeline.Minute) place { return place{m.Start, m.Run} }

// minuteTotal is a minute without its seconds. counts is nil if they cannot be read.
type minuteTotal struct {
	place
	counts gate.Counts
	took   histogram.Counts
}

// timeline reads the totals of all minutes of a sale, and then the seconds of the minutes that points show.
func (r *Reports) timeline(ctx context.Context, v voucher.Voucher) (Timeline, error) {
	made := Timeline{Answers: gate.Counts{}}
	w := newWindow(v.Sale)
	var first, last, soldOut time.Time // the minutes of these events
	err := r.totals(ctx, v.ID, func(m minuteTotal) {
		if m.counts == nil {
			made.Spoilt++
			return
		}
		for answer, n := range m.counts {
			made.Answers[answer] += n
		}
		made.Took = made.Took.Plus(m.took)
		w.extend(m.start)
		if m.counts[gate.Accepted.Answer()] > 0 {
			last = m.start
			if first.IsZero() {
				first = m.start
			}
		}
		if soldOut.IsZero() && m.counts[gate.SoldOut.Answer()] > 0 {
			soldOut = m.start
		}
	})
	if err != nil {
		return made, err
	}
	if made.FirstAccepted, _, err = r.bounds(ctx, v.ID, first, gate.Accepted); err == nil {
		_, made.LastAccepted, err = r.bounds(ctx, v.ID, last, gate.Accepted)
	}
	if err == nil {
		made.SoldOut, _, err = r.bounds(ctx, v.ID, soldOut, gate.SoldOut)
	}
	if err != nil {
		return made, err
	}
	made.Step = w.step()
	made.Points, err = r.points(ctx, v.ID, w)
	return made, err
}

// bounds returns the first and the last second of a minute with such an outcome; zero times for the zero minute.
func (r *Reports) bounds(
	ctx context.Context, voucherID int64, start time.Time, outcome gate.Outcome,
) (first, last time.Time, err error) {
	if start.IsZero() {
		return first, last, nil
	}
	err = r.minutes(ctx, voucherID, start, start.Add(time.Minute), func(m timeline.Minute) error {
		seconds := m.Counts[outcome.Answer()]
		if seconds == nil {
			return nil
		}
		for second, n := range seconds {
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

// points returns the points of the window.
func (r *Reports) points(ctx context.Context, voucherID int64, w *window) ([]Point, error) {
	if w.empty() {
		return nil, nil
	}
	all := steps{step: w.step()}
	if all.step >= time.Minute { // totals are enough, and far less to read
		err := r.totals(ctx, voucherID, func(m minuteTotal) {
			if m.counts == nil || m.start.Before(w.from) || !m.start.Before(w.to) {
				return
			}
			p := all.at(m.start)
			for answer, n := range m.counts {
				p.Counts[answer] += n
			}
			p.Took = p.Took.Plus(m.took)
		})
		return all.points, err
	}
	err := r.minutes(ctx, voucherID, w.from, w.to, func(m timeline.Minute) error {
		all.add(m)
		return nil
	})
	return all.points, err
}

// steps are points in order, at most one for each step.
type steps struct {
	step   time.Duration
	points []Point
}

// add adds the seconds of a minute.
func (s *steps) add(m timeline.Minute) {
	for answer, seconds := range m.Counts {
		for second, n := range seconds {
			if n > 0 {
				s.at(m.Start.Add(time.Duration(second) * time.Second)).Counts[answer] += n
			}
		}
	}
	for second, took := range m.Took {
		p := s.at(m.Start.Add(time.Duration(second) * time.Second))
		p.Took = p.Took.Plus(took)
	}
}

// at returns the point of a time.
func (s *steps) at(t time.Time) *Point {
	t = t.Truncate(s.step)
	i := len(s.points) // search from the end: rows of several processes overlap within a minute
	for i > 0 && s.points[i-1].At.After(t) {
		i--
	}
	if i == 0 || !s.points[i-1].At.Equal(t) {
		s.points = slices.Insert(s.points, i, Point{At: t, Counts: gate.Counts{}})
		i++
	}
	return &s.points[i-1]
}

// totals calls f with the totals of each minute of the sale, in order.
func (r *Reports) totals(ctx context.Context, voucherID int64, f func(minuteTotal)) error {
	for after := (place{}); ; {
		page, err := r.ledger.minuteTotals(ctx, voucherID, after, minutesPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			f(m)
			after = m.place
		}
		if len(page) < minutesPage {
			return nil
		}
	}
}

// minutes calls f with each readable minute of the sale that starts at from or later and before to, in order, until f
// fails.
func (r *Reports) minutes(
	ctx context.Context, voucherID int64, from, to time.Time, f func(timeline.Minute) error,
) error {
	for after := (place{}); ; {
		page, err := r.ledger.minutes(ctx, voucherID, from, to, after, minutesPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			if after = placeOf(m); m.Counts == nil {
				continue
			}
			if err := f(m); err != nil {
				return err
			}
		}
		if len(page) < minutesPage {
			return nil
		}
	}
}

// window is the time that the points of a report show: the minutes with requests within the sale and a margin around
// it.
type window struct {
	least, most time.Time // the sale's window with its margin
	from, to    time.Time // the minutes with requests; to is exclusive; both are zero while there are no requests
}

func newWindow(sale *voucher.Sale) *window {
	return &window{least: sale.Begin.Add(-margin).Truncate(time.Minute), most: sale.End.Add(margin)}
}

func (w *window) empty() bool { return w.from.IsZero() }

// extend extends the window to a minute with requests, unless it is beyond the margin.
func (w *window) extend(start time.Time) {
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

// step returns the distance between points at which there are at most maxPoints.
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

package voucher

import (
	"strings"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher/guards"
)

// fieldRules collects the problems of a request's fields.
type fieldRules struct{ invalid.Problems }

// title checks a title and returns it as it is stored.
func (r *fieldRules) title(s string) string {
	s = strings.TrimSpace(s)
	r.Line("title", s, 1, MaxTitle)
	return s
}

// subTitle checks a subtitle and returns it as it is stored.
func (r *fieldRules) subTitle(s string) string {
	s = strings.TrimSpace(s)
	r.Line("subTitle", s, 0, MaxTitle)
	return s
}

// rules checks the rules of use and returns them as they are stored.
func (r *fieldRules) rules(s string) string {
	r.Text("rules", s, 0, MaxRules)
	return s
}

// shop checks a shop's id. Only CreateBeside creates vouchers in the shop of rehearsals.
func (r *fieldRules) shop(id int64) {
	if id == RehearsalShop {
		r.Bad("shopId", rehearsalShop, rangeNotShop, invalid.Data{"min": 1, "max": MaxID})
		return
	}
	r.Number("shopId", id, 1, MaxID)
}

// seconds checks a time span of whole seconds; 0 means that it is left out.
func (r *fieldRules) seconds(field string, d, least, most time.Duration, allowed invalid.Allowed) {
	if d != 0 && (d < least || d > most || d%time.Second != 0) {
		r.Bad(field, invalid.OutOfRange, allowed,
			invalid.Data{"value": d.Seconds(), "min": least.Seconds(), "max": most.Seconds()})
	}
}

// window checks a sale's begin and end (exclusive) at the time now.
func (r *fieldRules) window(begin, end, now time.Time) {
	begins, ends := r.year("beginTime", begin), r.year("endTime", end)
	switch {
	case begins && ends && !end.After(begin):
		r.Bad("endTime", notAfterOther, afterOther, invalid.Data{"other": "beginTime"})
	case ends && !end.After(now):
		r.Bad("endTime", inThePast, invalid.AfterTime, invalid.Data{"after": second(now)})
	}
}

// guards applies a change to the guards of a sale, checks the result as a whole and returns it.
func (r *fieldRules) guards(c guards.Change, was *guards.Settings) *guards.Settings {
	s := c.Apply(was)
	r.Problems = append(r.Problems, s.Check()...)
	return s
}

// moments checks that every buyer's moment, at most the tickets' delay after the begin, lies before the end.
func (r *fieldRules) moments(s Sale) {
	if s.Guards == nil || s.Guards.Tickets == nil || !s.End.After(s.Begin) {
		return
	}
	if window := s.End.Sub(s.Begin); s.Guards.Tickets.Longest() >= window {
		r.Bad("guards.tickets.delayMs", delayTooLong, delayBelow,
			invalid.Data{"value": s.Guards.Tickets.DelayMs, "window": window.Milliseconds()})
	}
}

// DrawLead is how long before a sale's begin its draw closes, at least: until then every instance knows its outcome.
const DrawLead = time.Minute

// draw checks that a draw can take place at the time now: of a sale that has tickets, and that sells to nobody else.
func (r *fieldRules) draw(s *Sale, now time.Time) {
	if s == nil { // the guards say so already
		return
	}
	draw := s.Guards.Drawn()
	if draw == nil {
		r.Bad("draw", needsTickets, invalid.Omit, nil)
		return
	}
	if s.HasWaitlist() {
		r.Bad("draw", hasWaitlist, invalid.Omit, nil)
	}
	latest := s.Begin.Add(-DrawLead)
	switch earliest := s.Guards.Tickets.From(s.Begin); {
	case !draw.CloseTime.After(now):
		r.Bad("closeTime", inThePast, invalid.AfterTime, invalid.Data{"after": second(now)})
	case !draw.CloseTime.After(earliest):
		r.Bad("closeTime", beforeTickets, invalid.AfterTime, invalid.Data{"after": second(earliest)})
	case draw.CloseTime.After(latest):
		r.Bad("closeTime", tooNearBegin, notAfterTime, invalid.Data{"latest": second(latest)})
	}
}

// absent checks that a voucher without a sale is not given a time of a sale.
func (r *fieldRules) absent(field string, t *time.Time) {
	if t != nil {
		r.Bad(field, needsSale, invalid.Omit, nil)
	}
}

// visibleFrom checks the time from which the public sees a voucher, and returns it in its stored form; zero: always.
func (r *fieldRules) visibleFrom(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	r.year("visibleFrom", t)
	return instant(t)
}

// year checks the year of a time, and reports whether it is right.
func (r *fieldRules) year(field string, t time.Time) bool {
	if t.Year() < 2000 || t.Year() > 9999 {
		r.Bad(field, invalid.YearOutOfRange, invalid.Year, nil)
		return false
	}
	return true
}

// inTime checks that a sale becomes visible before it begins.
func (r *fieldRules) inTime(visible, begin time.Time) {
	if visible.After(begin) {
		r.Bad("visibleFrom", afterBegin, notAfterTime,
			invalid.Data{"other": "beginTime", "latest": second(begin)})
	}
}

// second returns a time as problems write it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// instant returns a time as it is stored: Redis and the ledger store milliseconds.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

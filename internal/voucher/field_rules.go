package voucher

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"seckill/internal/guard"
	"seckill/internal/invalid"
)

// fieldRules collects what is wrong with the fields of a request.
type fieldRules struct{ problems []invalid.Problem }

func (r *fieldRules) bad(field, reason, allowed string) {
	r.problems = append(r.problems, invalid.Problem{Field: field, Reason: reason, Allowed: allowed})
}

// err returns everything that was found as one error, or nil.
func (r *fieldRules) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &invalid.Error{Problems: r.problems}
}

// title returns a title as it is stored.
func (r *fieldRules) title(s string) string {
	s = strings.TrimSpace(s)
	r.text("title", s, 1, MaxTitle)
	return s
}

// subTitle returns a subtitle as it is stored.
func (r *fieldRules) subTitle(s string) string {
	s = strings.TrimSpace(s)
	r.text("subTitle", s, 0, MaxTitle)
	return s
}

// rules returns the rules of use as they are stored.
func (r *fieldRules) rules(s string) string {
	r.text("rules", s, 0, MaxRules)
	return s
}

// text checks that s is text of least to most characters.
func (r *fieldRules) text(field, s string, least, most int) {
	allowed := fmt.Sprintf("%d to %d characters of valid UTF-8", least, most)
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		r.bad(field, "holds bytes that are not text", allowed)
	case n < least:
		r.bad(field, "is missing or blank", allowed)
	case n > most:
		r.bad(field, fmt.Sprintf("has %d characters, which is too long", n), allowed)
	}
}

func (r *fieldRules) number(field string, n, least, most int64) {
	if n < least || n > most {
		r.bad(field, fmt.Sprintf("is %d", n), fmt.Sprintf("a whole number from %d to %d", least, most))
	}
}

// shop checks a shop's id; vouchers in that of rehearsals are made by CreateRehearsal alone.
func (r *fieldRules) shop(id int64) {
	if id == RehearsalShop {
		r.bad("shopId", "is that of rehearsals", fmt.Sprintf("any other whole number from 1 to %d", MaxID))
		return
	}
	r.number("shopId", id, 1, MaxID)
}

// payWithin returns how long an order may stay unpaid; 0 is the default.
func (r *fieldRules) payWithin(d time.Duration) time.Duration {
	switch {
	case d == 0:
		return DefaultPayWithin
	case d < MinPayWithin || d > MaxPayWithin || d%time.Second != 0:
		r.bad("payWithinSeconds", "is "+seconds(d), fmt.Sprintf("a whole number from %s to %s", seconds(MinPayWithin), seconds(MaxPayWithin)))
	}
	return d
}

// offerWithin checks how long an offer of a waiting list stands; 0 is no list.
func (r *fieldRules) offerWithin(d time.Duration) {
	if d != 0 && (d < MinOfferWithin || d > MaxOfferWithin || d%time.Second != 0) {
		r.bad("waitlistOfferSeconds", "is "+seconds(d), fmt.Sprintf("a whole number from %s to %s, or leave it out: no waiting list", seconds(MinOfferWithin), seconds(MaxOfferWithin)))
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// window checks a sale's begin and end (exclusive) at the time now.
func (r *fieldRules) window(begin, end, now time.Time) {
	known := func(field string, t time.Time) bool {
		if t.Year() < 2000 || t.Year() > 9999 {
			r.bad(field, "is missing or out of range", "a time such as 2026-01-02T20:00:00Z, in the years 2000 to 9999")
			return false
		}
		return true
	}
	begins, ends := known("beginTime", begin), known("endTime", end)
	switch {
	case begins && ends && !end.After(begin):
		r.bad("endTime", "is not after beginTime", "a time after beginTime")
	case ends && !end.After(now):
		r.bad("endTime", "is in the past", "a time after "+now.UTC().Format(time.RFC3339))
	}
}

// guards returns the guards of a sale after a change, which is checked as a whole.
func (r *fieldRules) guards(c guard.Change, was *guard.Settings) *guard.Settings {
	s := c.Apply(was)
	r.problems = append(r.problems, s.Check()...)
	return s
}

// moments checks that every buyer's moment, up to the tickets' delay after the begin, lies before the end.
func (r *fieldRules) moments(s Sale) {
	if s.Guards == nil || s.Guards.Tickets == nil || !s.End.After(s.Begin) {
		return
	}
	if window := s.End.Sub(s.Begin); s.Guards.Tickets.Longest() >= window {
		r.bad("guards.tickets.delayMs", fmt.Sprintf("is %d: some buyers could buy only after endTime", s.Guards.Tickets.DelayMs),
			fmt.Sprintf("less than the %d milliseconds between beginTime and endTime", window.Milliseconds()))
	}
}

// absent checks that a time of a sale is not given for a voucher without one.
func (r *fieldRules) absent(field string, t *time.Time) {
	if t != nil {
		r.bad(field, "is of a sale, and this voucher has none", "leave it out")
	}
}

// visibleFrom returns since when the public sees a voucher, as it is stored; zero is always.
func (r *fieldRules) visibleFrom(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	if t.Year() < 2000 || t.Year() > 9999 {
		r.bad("visibleFrom", "is out of range", "a time such as 2026-01-02T20:00:00Z, in the years 2000 to 9999")
	}
	return instant(t)
}

// inTime checks that buyers see a sale before it begins.
func (r *fieldRules) inTime(visible, begin time.Time) {
	if visible.After(begin) {
		r.bad("visibleFrom", "is after beginTime: nobody could buy when the sale begins", "a time not after "+begin.Format(time.RFC3339))
	}
}

// instant returns a time as it is stored: Redis and the ledger have milliseconds.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

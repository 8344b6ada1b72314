package voucher

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/moment"
	"seckill/internal/voucher/guards"
)

// selling returns a voucher that is on sale.
func selling() Voucher {
	return Voucher{
		ID: 1, ShopID: 1, Title: "100 for 10", SubTitle: "tonight", Rules: "one each", PayValue: 1000,
		ActualValue: 10000, PayWithin: DefaultPayWithin, Kind: Seckill, Status: OnShelf, Version: 3,
		Sale: &Sale{Stock: 7, Issued: 9, Begin: now.Add(-time.Hour), End: now.Add(time.Hour), LastOperation: 4},
	}
}

// notNamed is what is wrong with a picture on a host that the setting does not name.
var notNamed = invalid.New("picture", invalid.Malformed, invalid.Omit, nil)

func TestChangeApplies(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("x", 3600)
	for name, tc := range map[string]struct {
		change Change
		want   func(*Voucher)
	}{
		"nothing": {Change{}, func(*Voucher) {}},
		"texts": {
			Change{Title: new(" new "), SubTitle: new("\tnewer "), Rules: new(" kept ")},
			func(v *Voucher) { v.Title, v.SubTitle, v.Rules = "new", "newer", " kept " },
		},
		"no subtitle": {Change{SubTitle: new(""), Rules: new("")}, func(v *Voucher) { v.SubTitle, v.Rules = "", "" }},
		"a picture": {
			Change{Picture: new("https://img.example/1.png")},
			func(v *Voucher) { v.Picture = "https://img.example/1.png" },
		},
		"off the shelf": {Change{OnShelf: new(false)}, func(v *Voucher) { v.Status = OffShelf }},
		"on the shelf":  {Change{OnShelf: new(true)}, func(*Voucher) {}},
		"a later end": {
			Change{End: new(now.Add(2 * time.Hour).Add(time.Microsecond).In(zone))},
			func(v *Voucher) { v.Sale.End = now.Add(2 * time.Hour) },
		},
		"a later begin": {
			Change{Begin: new(now.Add(time.Minute))}, func(v *Voucher) { v.Sale.Begin = now.Add(time.Minute) },
		},
		"a time of visibility that has passed": {
			Change{VisibleFrom: new(now.Add(-2 * time.Hour))},
			func(v *Voucher) { v.VisibleFrom = now.Add(-2 * time.Hour) },
		},
		"another day": {
			Change{Begin: new(now.Add(24 * time.Hour)), End: new(now.Add(25 * time.Hour))},
			func(v *Voucher) { v.Sale.Begin, v.Sale.End = now.Add(24*time.Hour), now.Add(25*time.Hour) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, want := selling(), selling()
			tc.want(&want)
			if err := tc.change.apply(&got, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("voucher (-want +got):\n%s", diff)
			}
		})
	}
}

// hidden hides a voucher for a minute; its sale begins in two.
func hidden(v *Voucher) {
	v.VisibleFrom, v.Sale.Begin = now.Add(time.Minute), now.Add(2*time.Minute)
}

// An admin can show a hidden voucher sooner, later, or at once.
func TestHiddenVoucherChangesItsTime(t *testing.T) {
	t.Parallel()
	for _, from := range []time.Time{now, now.Add(30 * time.Second), now.Add(2 * time.Minute)} {
		v := selling()
		hidden(&v)
		if err := (Change{VisibleFrom: new(from)}).apply(&v, now); err != nil ||
			!v.VisibleFrom.Equal(from) || v.Hidden(from) {
			t.Errorf("visible from %v: %+v, %v", from, v, err)
		}
	}
	v := selling()
	hidden(&v)
	if err := (Change{Title: new("x"), End: new(now.Add(5 * time.Hour))}).apply(&v, now); err != nil || !v.Hidden(now) {
		t.Errorf("another change of a hidden voucher: %v", err)
	}
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	tickets := &guards.Tickets{DelayMs: guards.MaxDelayMs, LeadMinutes: 1, ExpiryMinutes: 1}
	for name, tc := range map[string]struct {
		before func(*Voucher)
		change Change
		want   []string // names of fields with a problem
	}{
		"a blank title": {change: Change{Title: new("  ")}, want: []string{"title"}},
		"texts too long": {
			change: Change{SubTitle: new(strings.Repeat("x", MaxTitle+1)), Rules: new(strings.Repeat("x", MaxRules+1))},
			want:   []string{"subTitle", "rules"},
		},
		"a new picture elsewhere": {
			change: Change{Title: new(""), Picture: new("https://old.example/2.png"), Elsewhere: notNamed},
			want:   []string{"title", "picture"},
		},
		"a text that is not UTF-8": {change: Change{Rules: new("\xff")}, want: []string{"rules"}},
		"an end before the begin":  {change: Change{End: new(now.Add(-2 * time.Hour))}, want: []string{"endTime"}},
		"a begin after the end":    {change: Change{Begin: new(now.Add(2 * time.Hour))}, want: []string{"endTime"}},
		"an end in the past":       {change: Change{End: new(now.Add(-time.Minute))}, want: []string{"endTime"}},
		"an end now":               {change: Change{End: new(now)}, want: []string{"endTime"}},
		"a begin beyond the years": {
			change: Change{Begin: new(time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))}, want: []string{"beginTime"},
		},
		"an end beyond the years": {
			change: Change{End: new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))}, want: []string{"endTime"},
		},
		"an end before some buyers' moments": {
			before: func(v *Voucher) { v.Sale.Guards = &guards.Settings{Tickets: tickets} },
			change: Change{Begin: new(now), End: new(now.Add(10 * time.Minute))},
			want:   []string{"guards.tickets.delayMs"},
		},
		"buyers' moments after the end": {
			before: func(v *Voucher) { v.Sale.Begin, v.Sale.End = now, now.Add(time.Minute) },
			change: Change{Guards: &guards.Change{Tickets: guards.Edit[guards.Tickets]{Given: true, To: tickets}}},
			want:   []string{"guards.tickets.delayMs"},
		},
		"hiding what buyers see": {
			change: Change{VisibleFrom: new(now.Add(time.Minute))}, want: []string{"visibleFrom"},
		},
		"visible only after the begin": {
			before: hidden, change: Change{VisibleFrom: new(now.Add(2*time.Minute + time.Second))},
			want: []string{"visibleFrom"},
		},
		"a begin before it is visible": {
			before: hidden, change: Change{Begin: new(now.Add(time.Second))}, want: []string{"visibleFrom"},
		},
		"everything at once": {
			change: Change{Title: new(""), Begin: new(time.Time{}), End: new(now)},
			want:   []string{"title", "beginTime", "endTime"},
		},
		"a window without a sale": {
			before: func(v *Voucher) { v.Sale = nil }, change: Change{Begin: new(now), End: new(now)},
			want: []string{"beginTime", "endTime"},
		},
		"a begin of a sale long over": {
			before: func(v *Voucher) { v.Sale.End = now.Add(-time.Minute) },
			change: Change{Begin: new(now.Add(-3 * time.Hour))}, want: []string{"endTime"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := selling()
			if tc.before != nil {
				tc.before(&v)
			}
			var invalid *invalid.Error
			if err := tc.change.apply(&v, now); !errors.As(err, &invalid) {
				t.Fatalf("error = %v", err)
			}
			if diff := cmp.Diff(tc.want, fields(invalid.Problems)); diff != "" {
				t.Errorf("fields with a problem (-want +got):\n%s", diff)
			}
		})
	}
}

// A form sends back everything that it showed, so unchanged values are not checked against the rules for new ones.
func TestChangeOfNothingIsAlwaysPossible(t *testing.T) {
	t.Parallel()
	v := selling()
	v.Sale.Begin, v.Sale.End, v.Sale.Retired = now.Add(-3*time.Hour), now.Add(-2*time.Hour), true
	v.Picture = "https://old.example/1.png"
	want := v
	sale := *v.Sale
	want.Sale = &sale
	same := Change{
		Picture: new(v.Picture), Elsewhere: notNamed,
		Title: new(v.Title), SubTitle: new(v.SubTitle), Rules: new(v.Rules), OnShelf: new(true),
		Begin: new(v.Sale.Begin.In(time.FixedZone("x", 3600))), End: new(v.Sale.End.Add(time.Nanosecond)),
	}
	if err := same.apply(&v, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("voucher (-want +got):\n%s", diff)
	}
}

// The window of a retired sale cannot change. Its texts and shelf status can, since only the ledger has them.
func TestRetiredSaleKeepsItsWindow(t *testing.T) {
	t.Parallel()
	retired := func() Voucher {
		v := selling()
		v.Sale.Retired = true
		return v
	}
	v := retired()
	if err := (Change{End: new(now.Add(5 * time.Hour))}).apply(&v, now); !errors.Is(err, ErrRetired) {
		t.Errorf("error = %v, want ErrRetired", err)
	}
	v = retired()
	if err := (Change{Title: new("sold"), OnShelf: new(false)}).apply(&v, now); err != nil ||
		v.Title != "sold" || v.Status != OffShelf {
		t.Errorf("%+v, %v", v, err)
	}
}

// A draw is announced for a sale with tickets and without a waiting list, at a time at which people can still enter and
// which leaves a minute. What was announced already is no mistake later, and other changes leave it as it is.
func TestDrawIsAnnounced(t *testing.T) {
	t.Parallel()
	drawing := func() Voucher {
		v := selling()
		v.Sale.Begin, v.Sale.End = now.Add(2*time.Hour), now.Add(3*time.Hour)
		v.Sale.Guards = &guards.Settings{Tickets: &guards.Tickets{DelayMs: 1000, LeadMinutes: 60, ExpiryMinutes: 60}}
		return v
	}
	announce := func(d guards.Draw) Change {
		return Change{Guards: &guards.Change{Draw: guards.Edit[guards.Draw]{Given: true, To: &d}}}
	}
	at := func(d time.Duration) moment.Time { return moment.Of(now.Add(d)) }
	same := func(*Voucher) {}
	good := guards.Draw{CloseTime: at(119 * time.Minute), Source: "drand", Round: "1"}
	for name, tc := range map[string]struct {
		draw  guards.Draw
		alter func(v *Voucher)
		want  string
	}{
		"good":                     {good, same, ""},
		"committed":                {guards.Draw{CloseTime: at(61 * time.Minute)}, same, ""},
		"in the past":              {guards.Draw{CloseTime: at(0)}, same, "closeTime PAST"},
		"before tickets are given": {guards.Draw{CloseTime: at(time.Hour)}, same, "closeTime BEFORE_TICKETS"},
		"next to the begin":        {guards.Draw{CloseTime: at(119*time.Minute + 1e6)}, same, "closeTime NEAR_BEGIN"},
		"a source without a round": {guards.Draw{CloseTime: good.CloseTime, Source: "x"}, same, "source WITHOUT_OTHER"},
		"with a waiting list":      {good, func(v *Voucher) { v.Sale.InviteWindow = time.Minute }, "draw WAITLIST"},
		"without tickets":          {good, func(v *Voucher) { v.Sale.Guards = nil }, "draw NO_TICKETS_ON"},
		"with tickets in a dry run": {good, func(v *Voucher) {
			v.Sale.Guards.Tickets.DryRun = true
		}, "guards.tickets.dryRun DRY_DRAW"},
		"without a sale": {good, func(v *Voucher) { v.Sale = nil }, "guards NO_SALE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := drawing()
			tc.alter(&v)
			got, err := "", announce(tc.draw).apply(&v, now)
			if bad, is := errors.AsType[*invalid.Error](err); is {
				got = bad.Problems[0].Field + " " + bad.Problems[0].Reason.Code
			}
			if got != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
	v := drawing()
	if err := announce(good).apply(&v, now); err != nil {
		t.Fatal(err)
	}
	if err := announce(good).apply(&v, now.Add(150*time.Minute)); err != nil {
		t.Errorf("announced again, after its begin: %v", err)
	}
	tickets := &guards.Tickets{DelayMs: 2000, LeadMinutes: 60, ExpiryMinutes: 60}
	to := guards.Change{Tickets: guards.Edit[guards.Tickets]{Given: true, To: tickets}}
	if err := (Change{Guards: &to}).apply(&v, now); err != nil || !v.Sale.Guards.Drawn().Equal(&good) ||
		v.Sale.Guards.Tickets.DelayMs != 2000 || tickets.Draw != nil {
		t.Errorf("other tickets: %+v, %v", v.Sale.Guards.Tickets, err)
	}
	if other := v.Sale.Guards.Undrawn(); other.Drawn() != nil || v.Sale.Guards.Drawn() == nil {
		t.Error("another sale has the draw, or this one has it no more")
	}
	to = guards.Change{Tickets: guards.Edit[guards.Tickets]{Given: true}}
	if err := (Change{Guards: &to}).apply(&v, now); err != nil || v.Sale.Guards.Drawn() != nil {
		t.Errorf("tickets are off: %+v, %v", v.Sale.Guards, err)
	}
}

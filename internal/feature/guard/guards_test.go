package guard

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/voucher/guards"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	days := func(n int) time.Time { return noon.AddDate(0, 0, -n) }
	for name, c := range map[string]struct {
		conditions guards.Conditions
		claims     guards.Claims
		want       *NotEligibleError
	}{
		"of the level": {guards.Conditions{MinLevel: 2}, guards.Claims{Level: 2}, nil},
		"above it":     {guards.Conditions{MinLevel: 2}, guards.Claims{Level: 9}, nil},
		"below it":     {guards.Conditions{MinLevel: 2}, guards.Claims{Level: 1}, &NotEligibleError{"minLevel", 2}},
		"without a level": {
			guards.Conditions{MinLevel: 1}, guards.Claims{Since: days(900)}, &NotEligibleError{"minLevel", 1},
		},
		"old enough": {guards.Conditions{MinAgeDays: 7}, guards.Claims{Since: days(7)}, nil},
		"a moment too young": {
			guards.Conditions{MinAgeDays: 7}, guards.Claims{Since: days(7).Add(1)}, &NotEligibleError{"minAgeDays", 7},
		},
		"of no age": {guards.Conditions{MinAgeDays: 1}, guards.Claims{Level: 9}, &NotEligibleError{"minAgeDays", 1}},
		"of the future": {
			guards.Conditions{MinAgeDays: 1}, guards.Claims{Since: days(-1)}, &NotEligibleError{"minAgeDays", 1},
		},
		"both": {guards.Conditions{MinLevel: 2, MinAgeDays: 7}, guards.Claims{Level: 2, Since: days(8)}, nil},
		"the one and the other": {
			guards.Conditions{MinLevel: 2, MinAgeDays: 7}, guards.Claims{
				Level: 2, Since: days(6),
			}, &NotEligibleError{"minAgeDays", 7},
		},
		"neither": {guards.Conditions{MinLevel: 2, MinAgeDays: 7}, guards.Claims{}, &NotEligibleError{"minLevel", 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Request{
				Sale:   Sale{Settings: &guards.Settings{Conditions: &c.conditions}},
				Caller: Caller{Claims: c.claims}, Now: noon,
			}
			got, _ := errors.AsType[*NotEligibleError](ConditionsCheck{}.Check(&r))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A guard that only tries stops nobody, and counts by the same code whom it would have stopped; those behind it are
// asked.
func TestDryRunCountsWhomItWouldStop(t *testing.T) {
	t.Parallel()
	counted := func(dryRun bool) map[guards.Name]int {
		caller := Caller{UserID: 7, Address: netip.MustParseAddr("192.0.2.7")}
		heard, counts := observer{}, tally.New(time.Now)
		g := NewGuards(budget.NewTable(func() time.Time { return noon }), counts, heard.GuardStopped, ConditionsCheck{})
		s := Sale{ID: 1, Settings: &guards.Settings{
			Limits: &guards.Limits{
				PerAddress: &guards.Rate{Requests: 1, Seconds: 60}, PerUser: &guards.Rate{Requests: 1, Seconds: 60},
				DryRun: dryRun,
			},
			Conditions: &guards.Conditions{MinLevel: 1, DryRun: dryRun},
		}}
		for i := range 3 {
			for name, err := range map[guards.Name]error{
				guards.LimitsGuard: g.CheckLimits(s, caller), guards.ConditionsGuard: g.Check(s, caller, noon),
			} {
				stopped, is := errors.AsType[*StoppedError](err)
				if stops := i > 0 || name == guards.ConditionsGuard; is != (stops && !dryRun) ||
					is && stopped.Guard != name {
					t.Errorf("dryRun %t, request %d, %s: %v", dryRun, i, name, err)
				}
			}
		}
		caller.Address = netip.Addr{}
		if err := g.CheckLimits(s, caller); (err != nil) == dryRun {
			t.Errorf("dryRun %t, the user: %v", dryRun, err)
		}
		if len(heard[!dryRun]) != 0 {
			t.Errorf("dryRun %t: %v was counted as the other", dryRun, heard[!dryRun])
		}
		state := guards.On
		if dryRun {
			state = guards.DryRun
		}
		wantCounts := map[tally.Count]int64{
			tally.StoppedCount(guards.LimitsGuard, state): 3, tally.StoppedCount(guards.ConditionsGuard, state): 3,
		}
		if diff := cmp.Diff(wantCounts, counts.Take()[1].Counts); diff != "" {
			t.Errorf("dryRun %t: counts for people (-want +got):\n%s", dryRun, diff)
		}
		return heard[dryRun]
	}
	want := map[guards.Name]int{guards.LimitsGuard: 3, guards.ConditionsGuard: 3}
	for _, dryRun := range []bool{false, true} {
		if diff := cmp.Diff(want, counted(dryRun)); diff != "" {
			t.Errorf("dryRun %t (-want +got):\n%s", dryRun, diff)
		}
	}
}

// observer counts by dryRun and guard.
type observer map[bool]map[guards.Name]int

func (o observer) GuardStopped(by guards.Name, dryRun bool) {
	if o[dryRun] == nil {
		o[dryRun] = map[guards.Name]int{}
	}
	o[dryRun][by]++
}

func TestNoGuards(t *testing.T) {
	t.Parallel()
	heard := observer{}
	g := NewGuards(budget.NewTable(time.Now), tally.New(time.Now), heard.GuardStopped, ConditionsCheck{})
	for _, s := range []Sale{
		{ID: 1}, {ID: 1, Settings: &guards.Settings{}}, {ID: 1, Settings: &guards.Settings{Unreadable: true}},
	} {
		for range 100 {
			if err := errors.Join(g.CheckLimits(s, Caller{}), g.Check(s, Caller{}, noon)); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
		}
	}
	if len(heard) != 0 {
		t.Errorf("counted: %v", heard)
	}
}

// Each check costs what the benchmark says. What guards share of a request is the only thing that it allocates.
func BenchmarkCheck(b *testing.B) {
	g := NewGuards(budget.NewTable(time.Now), tally.New(time.Now), observer{}.GuardStopped, ConditionsCheck{})
	caller := Caller{UserID: 7, Address: netip.MustParseAddr("192.0.2.7"), Claims: guards.Claims{Level: 2, Since: noon}}
	for name, s := range map[string]Sale{
		"no guards":  {ID: 1},
		"conditions": {ID: 1, Settings: &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := g.Check(s, caller, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

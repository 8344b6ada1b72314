package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/guard"
)

// named returns a kind of bots.
func named(t *testing.T, name string) kind {
	t.Helper()
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %q", name)
	return kind{}
}

func run1(t *testing.T, k kind, set guard.Settings) result {
	t.Helper()
	r, err := besieged(t.Context(), firstSeed, k, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEachGuard holds that bots take all units of a sale without guards, and that the guard meant for them leaves most to people.
func TestEachGuard(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if r := run1(t, k, guard.Settings{}); r.toBots != units {
				t.Errorf("without guards bots have %d units, people %d", r.toBots, r.toPeople)
			}
			r := run1(t, k, guarded(k.meant))
			if k.name != "many cores" && r.toBots > units/2 { // who has that many accounts gets that much
				t.Errorf("with %s bots have %d units, people %d", k.meantName, r.toBots, r.toPeople)
			}
			if r.honestCalledAttack > 0 {
				t.Errorf("%d of %d honest buyers were called an attack: %v", r.honestCalledAttack, people, r.refusals)
			}
		})
	}
}

// TestGoal is the goal with few seeds.
func TestGoal(t *testing.T) {
	t.Parallel()
	k := named(t, "fast lines")
	o, err := measure(t.Context(), k, all(k), 6)
	if err != nil {
		t.Fatal(err)
	}
	if o.attacked > 0 || o.bot > 1.25*o.waiting {
		t.Errorf("%.2f of a hundred bots win, and %.2f of a hundred people; %d people were called an attack", o.bot, o.waiting, o.attacked)
	}
}

// TestDelayTakesTheAdvantage holds that bots on fast lines gain less the longer the delay is.
func TestDelayTakesTheAdvantage(t *testing.T) {
	t.Parallel()
	k := named(t, "fast lines")
	last := 1e9
	for _, d := range []time.Duration{1500 * time.Millisecond, time.Minute} {
		set := guarded(tickets)
		set.Tickets.DelayMs = d.Milliseconds()
		r := run1(t, k, set)
		gained := r.botRate() / r.waitingRate()
		if gained >= last {
			t.Errorf("with %v a bot's account wins %.2f times as often as a person's", d, gained)
		}
		last = gained
	}
}

// TestSharedTickets holds that nobody enters with another's ticket: no more bots win than have fetched one themselves.
func TestSharedTickets(t *testing.T) {
	t.Parallel()
	k := named(t, "shared tickets")
	r := run1(t, k, guarded(tickets))
	if own := k.accounts / 100; r.toBots > own || r.refusals["TICKET_INVALID"] < k.accounts-own {
		t.Errorf("%d bots won with %d tickets; refused: %v", r.toBots, own, r.refusals)
	}
}

// TestSeedRepeats holds that a seed gives the same siege.
func TestSeedRepeats(t *testing.T) {
	t.Parallel()
	k := named(t, "many addresses")
	set := guarded(limits, conditions, tickets)
	if diff := cmp.Diff(run1(t, k, set), run1(t, k, set), cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("a seed gave another siege (-first +second)\n%s", diff)
	}
}

func TestReallySolve(t *testing.T) {
	t.Parallel()
	const actors = 3
	if tries, _, err := reallySolve(t.Context(), actors); err != nil || tries < actors || tries > 16*actors { // 8.5 each, by chance
		t.Errorf("%d tries, %v", tries, err)
	}
}

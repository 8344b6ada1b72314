package siege

import (
	"os"
	"testing"
	"time"

	"seckill/internal/testkit"
)

const (
	// envSiege is what is besieged besides what CI runs: "full" is everything, "asks" the unsolved asks for challenges,
	// "cuts" the callers who hang up.
	envSiege = "SECKILL_TEST_SIEGE"
	// envReport is "write" where the tables are written into the document.
	envReport = "SECKILL_TEST_REPORT"

	document = "../notes/siege.md"
)

// guardSet is guards that a sale has.
type guardSet struct {
	name   string
	guards []string
	late   bool // people press after the start, though their pages would keep a press
}

// sets returns the guards that sales have in turn: none, each alone, and all. The cool-down has nothing to do in a
// single sale, and a challenge is solved for a ticket.
func sets() []guardSet {
	return []guardSet{
		{name: "none"},
		{name: "limits", guards: []string{"limits"}},
		{name: "units", guards: []string{"units"}},
		{name: "conditions", guards: []string{"conditions"}},
		{name: "tickets", guards: []string{"tickets"}},
		{name: "tickets, people press late", guards: []string{"tickets"}, late: true},
		{name: "tickets, challenge", guards: []string{"tickets", "challenge"}},
		{name: "all", guards: []string{"limits", "units", "conditions", "coolDown", "tickets", "challenge"}},
	}
}

func allGuards() []string { return sets()[len(sets())-1].guards }

// TestSiege is the form that CI runs: bots of one address, and bots with accounts of a day, against no guard and all
// that are proposed. Every unit is sold, an address gets no more than its share, and no guard refuses people at home.
func TestSiege(t *testing.T) {
	t.Parallel()
	server, of := start(t, nil), small()
	all := proposed(t, server, of)
	share, _ := all["units"].(map[string]any)["perAddress"].(float64)
	cases := []struct {
		enemy  string
		guards []string
		most   int // units for the bots
	}{
		{"one address", nil, of.units},
		{"one address", []string{"units"}, int(share)},
		{"one address", allGuards(), int(share)},
		{"an address each, made yesterday", allGuards(), 0},
	}
	people := honest(of.people, 1)
	people.reaction = between(3*time.Second, 4*time.Second) // a machine that does much else keeps bots waiting
	var sieges []*siege
	for i, c := range cases {
		s := open(t, server, of.units, only(all, c.guards...))
		sieges = append(sieges, newSiege(s, people, botsNamed(c.enemy, of.people), uint64(i)))
	}
	for i, o := range besiege(t, sieges...) {
		c := cases[i]
		t.Logf("%s against %v: %s", c.enemy, c.guards, o)
		if o.bots > c.most || o.people+o.bots != of.units || len(o.refused) > 0 {
			t.Errorf("%s against %v: %s; want %d for bots at most, %d sold, and nobody refused", c.enemy, c.guards, o,
				c.most, of.units)
		}
		if c.guards == nil && o.bots < of.units/2 {
			t.Errorf("bots got %d of %d units without a guard: this is no siege", o.bots, of.units)
		}
	}
}

// TestWholeSiege has each kind of bots besiege each set of guards, one address come with 10,000 accounts, and people
// come so many behind one address.
func TestWholeSiege(t *testing.T) {
	if os.Getenv(envSiege) != "full" {
		return // TestSiege is what always runs
	}
	server := start(t, nil)
	for _, part := range []struct {
		name  string
		table func(*testing.T, *shop) string
	}{{"bots", attackers}, {"draw", drawn}, {"largest", largest}, {"neighbours", neighbours}} {
		t.Run(part.name, func(t *testing.T) { written(t, "siege-"+part.name, load()+part.table(t, server)) })
	}
}

// written writes a table between its lines of the document, if it is asked for.
func written(t *testing.T, name, text string) {
	t.Helper()
	t.Log(text)
	if os.Getenv(envReport) == "write" {
		testkit.Generated(t, document, "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->\n", "\n"+text+"\n", true)
	}
}

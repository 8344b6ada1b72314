package siege

import (
	"os"
	"strings"
	"testing"

	"seckill/internal/testkit"
)

const (
	// envSiege is how much is besieged: "full" runs everything, seeds times.
	envSiege = "SECKILL_TEST_SIEGE"
	seeds    = 5

	document = "../../docs/guards.md"
	begin    = "<!-- siege:begin -->\n"
	end      = "<!-- siege:end -->\n"
)

// sets are the guards that a sale has in turn.
func sets() []struct {
	name   string
	guards []string
} {
	return []struct {
		name   string
		guards []string
	}{
		{"none", nil},
		{"limits", []string{"limits"}},
		{"units", []string{"units"}},
		{"conditions", []string{"conditions"}},
		{"tickets", []string{"tickets"}},
		{"tickets and challenge", []string{"tickets", "challenge"}},
		{"all", []string{"limits", "units", "conditions", "coolDown", "tickets", "challenge"}},
	}
}

// TestSiege is the quick form: bots of one address, and bots with an address each, against no guard and all that are
// proposed. Every unit is sold, an address gets no more than its share, and no person at home is refused by a guard.
func TestSiege(t *testing.T) {
	t.Parallel()
	server := start(t)
	all := proposed(t, server)
	share, _ := all["units"].(map[string]any)["perAddress"].(float64)
	kinds := bots()
	for _, c := range []struct {
		kind   kind
		guards []string
		most   int // units for the bots
	}{
		{kinds[0], nil, units},
		{kinds[0], []string{"units"}, int(share)},
		{kinds[0], sets()[len(sets())-1].guards, int(share)},
		{kinds[3], sets()[len(sets())-1].guards, 0}, // made yesterday
	} {
		o := open(t, server, only(all, c.guards...)).besiege(t, honest(1), c.kind, 1)
		t.Logf("%s against %v: %s", c.kind.name, c.guards, o)
		if o.bots > c.most || o.people+o.bots != units || len(o.refused) > 0 {
			t.Errorf("%s against %v: %s; want %d for bots at most, %d sold", c.kind.name, c.guards, o, c.most, units)
		}
		if c.guards == nil && o.bots < units/2 {
			t.Errorf("bots got %d of %d units without a guard: this is no siege", o.bots, units)
		}
	}
}

// TestWholeSiege has each kind of bot besiege each set of guards, and people come so many behind one address.
func TestWholeSiege(t *testing.T) {
	if os.Getenv(envSiege) != "full" {
		return // TestSiege is what always runs
	}
	server := start(t)
	all := proposed(t, server)
	var table strings.Builder
	table.WriteString(attackers(t, server, all))
	table.WriteString(shared(t, server, all))
	t.Log(table.String())
	if os.Getenv("SECKILL_TEST_REPORT") == "write" {
		testkit.Generated(t, document, begin, end, table.String(), true)
	}
}

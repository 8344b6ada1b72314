package siege

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const (
	// seeds is how many sales there are of each kind of bots and set of guards.
	seeds = 5
	// crowds is how many sales there are without bots, of many more people.
	crowds = 2
)

// load says what else the machine does.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		text = []byte("unknown")
	}
	average, _, _ := strings.Cut(string(text), " ")
	return fmt.Sprintf("On %d processors; the load of the machine was %s before it began. ", runtime.NumCPU(), average)
}

// sales besieges n sales at the same time, of which each has a seed from the given one on.
func sales(
	t *testing.T, first, n uint64, server *shop, of size, guards map[string]any, crowd, enemy kind,
) []outcome {
	t.Helper()
	var sieges []*siege
	for seed := first; seed < first+n; seed++ {
		sieges = append(sieges, newSiege(open(t, server, of.units, guards), crowd, enemy, seed))
	}
	outcomes := besiege(t, sieges...)
	for _, o := range outcomes {
		names := slices.Sorted(maps.Keys(guards))
		t.Logf("%s and %s against %v: %s, tries %v", crowd.name, enemy.name, names, o, o.tries)
	}
	return outcomes
}

// attackers returns a table of the units that each kind of bots got, in percent, and one of what challenges cost.
func attackers(t *testing.T, server *shop) string {
	t.Helper()
	of := ordinary()
	all := proposed(t, server, of)
	var table, cost strings.Builder
	fmt.Fprintf(&table, "Of %d units, with %d people and %d accounts of bots, a year old unless the row says "+
		"otherwise: the bots' part in percent,\nthe median of %d sales (least to most).\n\n| Bots |",
		of.units, of.people, of.people, seeds)
	for _, set := range sets() {
		fmt.Fprintf(&table, " %s |", set.name)
	}
	table.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(sets())) + "\n")
	fmt.Fprintf(&cost, "Tries at challenges for a ticket, median of people and of bots with all guards:")
	for _, k := range bots(of.people) {
		fmt.Fprintf(&table, "| %s |", k.name)
		for _, set := range sets() {
			if !set.matters(k) {
				table.WriteString(" |")
				continue
			}
			crowd, enemy := honest(of.people, 1), k
			crowd.early, enemy.early = !set.late, k.early && !set.late
			outcomes := sales(t, 0, seeds, server, of, only(all, set.guards...), crowd, enemy)
			fmt.Fprintf(&table, " %s |", parts(outcomes, of.units))
			if set.name == "all" {
				fmt.Fprintf(&cost, " %s %d and %d;", k.name, outcomes[0].tries[0], outcomes[0].tries[1])
			}
		}
		table.WriteString("\n")
	}
	return table.String() + "\n" + strings.TrimSuffix(cost.String(), ";") + ".\n"
}

// drawn returns a table of the units that bots got of sales with tickets, in percent: with moments that tickets say,
// and with moments that are drawn, which nobody knows until the beacon.
func drawn(t *testing.T, server *shop) string {
	t.Helper()
	of := ordinary()
	tickets := only(proposed(t, server, of), "tickets")
	draw := maps.Clone(tickets)
	draw[withDraw] = true
	var table strings.Builder
	fmt.Fprintf(&table, "Of %d units, with %d people: the bots' part in percent, the median of %d sales\n(least to "+
		"most).\n\n| Bots | tickets | tickets with a draw |\n| --- | ---: | ---: |\n", of.units, of.people, seeds)
	for _, c := range []struct {
		enemy string
		late  bool
	}{
		{"an address each, no faster than people", false},
		{"an address each", false},
		{"an address each", true},
		{fmt.Sprintf("%d addresses", 8*of.people), false},
	} {
		crowd, enemy := honest(of.people, 1), botsNamed(c.enemy, of.people)
		crowd.early, enemy.early = !c.late, enemy.early && !c.late
		fmt.Fprintf(&table, "| %s%s |", c.enemy, map[bool]string{true: ", people press late"}[c.late])
		for _, guards := range []map[string]any{tickets, draw} {
			fmt.Fprintf(&table, " %s |", parts(sales(t, 0, seeds, server, of, guards, crowd, enemy), of.units))
		}
		table.WriteString("\n")
	}
	return table.String()
}

// matters reports whether guards can make a difference to bots: those that use tickets in another way are like others
// where there are none. A challenge takes no unit from anybody: it is tried with those that others are like.
func (s guardSet) matters(k kind) bool {
	if k.ticket != ownTicket || k.fetching != nil {
		return s.name == "all" || slices.Equal(s.guards, []string{"tickets"}) && !s.late
	}
	return k.typical || s.name == "all" || !slices.Contains(s.guards, "challenge")
}

// parts returns the bots' part of the units in percent: the median, the least and the most.
func parts(outcomes []outcome, units int) string {
	of := make([]int, len(outcomes))
	for i, o := range outcomes {
		of[i] = o.bots * 100 / units
	}
	slices.Sort(of)
	if of[0] == of[len(of)-1] {
		return fmt.Sprint(of[0])
	}
	return fmt.Sprintf("%d (%d–%d)", of[len(of)/2], of[0], of[len(of)-1])
}

// largest returns a table of the units that one address with 10,000 accounts got.
func largest(t *testing.T, server *shop) string {
	t.Helper()
	of := large()
	all := proposed(t, server, of)
	var head, row strings.Builder
	fmt.Fprintf(&head, "One address with 10,000 accounts, of %d units with %d people, in percent:\n\n|", of.units,
		of.people)
	k := botsNamed("one address", 10_000)
	for _, set := range []guardSet{
		{name: "none"},
		{name: "limits", guards: []string{"limits"}},
		{name: "units", guards: []string{"units"}},
		{name: "all but the challenge", guards: []string{"limits", "units", "conditions", "coolDown", "tickets"}},
	} {
		fmt.Fprintf(&head, " %s |", set.name)
		var outcomes []outcome
		for seed := range uint64(seeds) { // one after the other: each has 15,000 callers
			guards := only(all, set.guards...)
			outcomes = append(outcomes, sales(t, seed, 1, server, of, guards, honest(of.people, 1), k)...)
		}
		fmt.Fprintf(&row, " %s |", parts(outcomes, of.units))
	}
	return head.String() + "\n|" + strings.Repeat(" ---: |", 4) + "\n|" + row.String() + "\n"
}

// neighbours returns a table of the people whom guards refused, in percent, by how many share an address: with the
// guards as proposed, and with their addresses listed as shared.
func neighbours(t *testing.T, server *shop) string {
	t.Helper()
	of := shops()
	all := only(proposed(t, server, of), allGuards()...)
	listed := only(all, "limits", "conditions", "coolDown", "tickets", "challenge")
	listed["units"] = map[string]any{"perAddress": 1, "shared": "100.64.0.0/10"}
	var table strings.Builder
	fmt.Fprintf(&table, "Of %d people who want %d units, without bots, at most %d in a network unless one address has "+
		"more: those whom a guard\nrefused in the end, in percent of %d sales.\n\n"+
		"| People an address | all as proposed | and the addresses listed as shared |\n| ---: | ---: | ---: |\n",
		of.people, of.units, networkPeople(of.people), crowds)
	for _, n := range []int{1, 10, 100, 1000} {
		fmt.Fprintf(&table, "| %d |", n)
		for _, set := range []map[string]any{all, listed} {
			refused := 0
			for _, o := range sales(t, 0, crowds, server, of, set, honest(of.people, n), kind{}) {
				for _, n := range o.refused {
					refused += n
				}
			}
			fmt.Fprintf(&table, " %.1f |", float64(refused)*100/float64(of.people*crowds))
		}
		table.WriteString("\n")
	}
	return table.String()
}

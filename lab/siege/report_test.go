package siege

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"seckill/test/box"
)

// attackers returns a table of the units that bots got, in percent: the median of the seeds, the least and the most.
func attackers(t *testing.T, server *box.Server, all map[string]any) string {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "\nOf %d units, %d people and %d accounts of bots: the bots' part in percent, the median of "+
		"%d sales (least to most). Bots of the last two rows have accounts of a year, the others of a day.\n\n| Bots |",
		units, people, accounts, seeds)
	for _, set := range sets() {
		fmt.Fprintf(&table, " %s |", set.name)
	}
	table.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(sets())) + "\n")
	for _, k := range bots() {
		fmt.Fprintf(&table, "| %s |", k.name)
		for _, set := range sets() {
			var parts []int
			for seed := range uint64(seeds) {
				o := open(t, server, only(all, set.guards...)).besiege(t, honest(1), k, seed+1)
				parts = append(parts, o.bots*100/units)
			}
			slices.Sort(parts)
			fmt.Fprintf(&table, " %d (%d–%d) |", parts[len(parts)/2], parts[0], parts[len(parts)-1])
		}
		table.WriteString("\n")
	}
	return table.String()
}

// shared returns a table of the people whom guards refused, in percent, by how many share an address: with the guards
// as proposed, and with their addresses listed as shared.
func shared(t *testing.T, server *box.Server, all map[string]any) string {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "\nOf %d people, without bots: those whom a guard refused in the end, in percent.\n\n"+
		"| People an address | all as proposed | and the addresses listed as shared |\n| ---: | ---: | ---: |\n",
		people)
	guards := only(all, sets()[len(sets())-1].guards...)
	listed := only(guards, "limits", "conditions", "coolDown", "tickets", "challenge")
	listed["units"] = map[string]any{"perAddress": 1, "shared": "100.64.0.0/10"}
	for _, n := range []int{1, 10, 100, people} {
		fmt.Fprintf(&table, "| %d |", n)
		for _, set := range []map[string]any{guards, listed} {
			refused := 0
			for seed := range uint64(seeds) {
				o := open(t, server, set).besiege(t, honest(n), kind{}, seed+1)
				for _, n := range o.refused {
					refused += n
				}
			}
			fmt.Fprintf(&table, " %.1f |", float64(refused)*100/float64(people*seeds))
		}
		table.WriteString("\n")
	}
	return table.String()
}

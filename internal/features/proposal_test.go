package features_test

import (
	"fmt"
	"strings"
	"testing"

	"seckill/internal/testkit"
	"seckill/internal/voucher/guards"
)

// TestDocumentOfProposal: docs/guards.md shows what the console proposes of what depends on the sale.
func TestDocumentOfProposal(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("\n| Units | People | Delay | An address | A network | on three instances each |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range []guards.Proposal{
		{Units: 500, Crowd: 1000},
		{Units: 500, Crowd: 5000},
		{Units: 500, Crowd: 50_000},
		{Units: 5000, Crowd: 50_000},
		{Units: 5000, Crowd: 500_000},
	} {
		one := p.Guards()
		p.Instances = 3
		three := p.Guards()
		fmt.Fprintf(&table, "| %d | %d | %g s | %d | %d | %d, %d |\n", p.Units, p.Crowd,
			float64(one.Tickets.DelayMs)/1000, one.Units.PerAddress, one.Units.PerNetwork, three.Units.PerAddress,
			three.Units.PerNetwork)
	}
	table.WriteString("\n")
	testkit.Generated(t, "../../docs/guards.md", "<!-- proposal:begin -->\n", "<!-- proposal:end -->\n",
		table.String(), *update)
}

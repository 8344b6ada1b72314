package guards

import (
	"testing"
)

// Proposed guards depend on the stock, the crowd and the instances, and are valid settings.
func TestProposal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sale               Proposal
		delay, one, twenty int64
	}{
		"ten for one":        {Proposal{500, 5000, 0, 1}, 10_000, 23, 45},
		"on three instances": {Proposal{500, 5000, 1, 3}, 10_000, 8, 15},
		"twenty for one":     {Proposal{500, 10_000, 1, 1}, 20_000, 14, 27},
		"a hundred for one":  {Proposal{500, 50_000, 1, 1}, 100_000, 5, 9},
		"a thousand for one": {Proposal{500, 500_000, 1, 1}, 600_000, 4, 4},
		"a small crowd":      {Proposal{50, 300, 1, 1}, 6000, 9, 17},
		"several units each": {Proposal{500, 50_000, 20, 3}, 100_000, 27, 27},
		"fewer than units":   {Proposal{500, 20, 1, 1}, 1500, 5, 8},
		"a million units":    {Proposal{1_000_000, 1, 1, 1}, 1500, 5, 5},
		"nothing":            {Proposal{}, 1500, 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.sale.Guards()
			if got.Tickets.DelayMs != c.delay || got.Units.PerAddress != c.one || got.Units.PerNetwork != c.twenty {
				t.Errorf("a delay of %d, %d units an address, %d a network; want %d, %d, %d", got.Tickets.DelayMs,
					got.Units.PerAddress, got.Units.PerNetwork, c.delay, c.one, c.twenty)
			}
			if problems := got.Check(); problems != nil {
				t.Errorf("it cannot be set: %v", problems)
			}
		})
	}
}

// A small crowd in few networks cannot buy all units, and the proposal says how many are left.
func TestUnitsLeftByShares(t *testing.T) {
	t.Parallel()
	for p, want := range map[Proposal][2]int64{
		{50, 60, 1, 1}: {4, 18}, {50, 300, 1, 1}: {3, 16}, {500, 5000, 1, 1}: {12, 410}, {500, 5000, 1, 3}: {12, 410},
		{5, 5, 1, 1}: {1, 0}, {0, 0, 0, 0}: {1, 0}, {1_000_000, 1_000_000, 1, 1}: {3185, 999372},
	} {
		if got := [2]int64{p.NetworksForAll(), p.LeftOfTwo()}; got != want {
			t.Errorf("%+v: %v, want %v", p, got, want)
		}
	}
}

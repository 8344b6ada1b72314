package guard

import (
	"context"

	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// figuresJSON is the JSON form of the figures of a sale's guards on all instances, for admins.
type figuresJSON struct {
	Settings   *guards.Settings      `json:"settings,omitempty"`
	Stopped    map[guards.Name]int64 `json:"stopped"`    // requests
	WouldStop  map[guards.Name]int64 `json:"wouldStop"`  // requests that a dry run counted
	UnitsByAge map[tally.Age]int64   `json:"unitsByAge"` // units, by the account's age
	// StoppedNetworks are the ten networks with the most requests stopped or counted by a dry run.
	StoppedNetworks []tally.NetworkCount `json:"stoppedNetworks"`
	UnitNetworks    []tally.NetworkCount `json:"unitNetworks"` // the ten networks with the most units
}

// figuresView returns nil for a sale without guards if nothing was counted.
func figuresView(s *guards.Settings, f tally.Figures) *figuresJSON {
	if s == nil && len(f.Counts) == 0 {
		return nil
	}
	v := &figuresJSON{
		Settings:  s,
		Stopped:   make(map[guards.Name]int64),
		WouldStop: make(map[guards.Name]int64), UnitsByAge: make(map[tally.Age]int64),
		StoppedNetworks: listOf(f.Stopped), UnitNetworks: listOf(f.Units),
	}
	for _, n := range guards.Names() {
		v.Stopped[n], v.WouldStop[n] = f.Counts[tally.StoppedCount(n, guards.On)],
			f.Counts[tally.StoppedCount(n, guards.DryRun)]
	}
	for _, a := range tally.Ages() {
		v.UnitsByAge[a] = f.Counts[tally.UnitsCount(a)]
	}
	return v
}

// listOf returns a list that is never null.
func listOf(counts []tally.NetworkCount) []tally.NetworkCount {
	return append([]tally.NetworkCount{}, counts...)
}

// ShownFigures returns httpkit.Member.Sale: a function that returns the figures of the guards of a voucher's sale.
// If the counts cannot be read, the function returns the error and zeros.
func ShownFigures(
	read func(ctx context.Context, sale order.SaleRef) (tally.Figures, error),
) func(ctx context.Context, v voucher.Voucher) (shown any, err error) {
	return func(ctx context.Context, v voucher.Voucher) (any, error) {
		figures, err := read(ctx, order.SaleOf(v))
		if shown := figuresView(v.Sale.Guards, figures); shown != nil {
			return shown, err
		}
		return nil, err
	}
}

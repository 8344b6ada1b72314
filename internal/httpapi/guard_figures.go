package httpapi

import (
	"seckill/internal/guard"
)

// guardFiguresJSON is what a sale's guards did, by all instances, as admins read it.
type guardFiguresJSON struct {
	Settings   *guard.Settings      `json:"settings,omitempty"`
	Stopped    map[guard.Name]int64 `json:"stopped"`    // requests
	WouldStop  map[guard.Name]int64 `json:"wouldStop"`  // requests that a dry run counted
	UnitsByAge map[guard.Age]int64  `json:"unitsByAge"` // units, by the account's age
	// Requests stopped or counted by a dry run, the ten highest.
	StoppedNetworks []networkCountJSON `json:"stoppedNetworks"`
	UnitNetworks    []networkCountJSON `json:"unitNetworks"` // units, the ten highest
}

type networkCountJSON struct {
	Network string `json:"network"` // a /24, a /48, or other
	Count   int64  `json:"count"`
}

// guardFiguresView returns nil for a sale without guards of which nothing was counted.
func guardFiguresView(s *guard.Settings, f guard.Figures) *guardFiguresJSON {
	if s == nil && len(f.Counts) == 0 {
		return nil
	}
	v := &guardFiguresJSON{
		Settings:  s,
		Stopped:   make(map[guard.Name]int64),
		WouldStop: make(map[guard.Name]int64), UnitsByAge: make(map[guard.Age]int64),
		StoppedNetworks: networkCountsView(f.Stopped), UnitNetworks: networkCountsView(f.Units),
	}
	for _, n := range guard.Names() {
		v.Stopped[n], v.WouldStop[n] = f.Counts[guard.StoppedCount(n, guard.On)],
			f.Counts[guard.StoppedCount(n, guard.DryRun)]
	}
	for _, a := range guard.Ages() {
		v.UnitsByAge[a] = f.Counts[guard.UnitsCount(a)]
	}
	return v
}

func networkCountsView(counts []guard.NetworkCount) []networkCountJSON {
	v := make([]networkCountJSON, len(counts))
	for i, c := range counts {
		v[i] = networkCountJSON(c)
	}
	return v
}

package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// spread is a figure over all rounds.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// over returns the spread of some figures; the zero spread of none.
func over(figures []float64) spread {
	if len(figures) == 0 {
		return spread{}
	}
	f := slices.Sorted(slices.Values(figures))
	n := len(f)
	return spread{Median: (f[(n-1)/2] + f[n/2]) / 2, Low: f[0], High: f[n-1]}
}

// line is a contestant over all rounds.
type line struct {
	Contestant string `json:"contestant"`
	Rate       spread `json:"answeredPerSecond"`
	P50        spread `json:"p50Millis"`
	P99        spread `json:"p99Millis"`
	Meanwhile  spread `json:"recordedPerSecondUnderLoad"`
	Draining   spread `json:"recordedPerSecondDraining"`
	Drain      spread `json:"drainSeconds"`
	RowP99     spread `json:"rowP99Millis"`
	ClientCPU  spread `json:"loadGeneratorProcessors"`
	Costs      costs  `json:"processorMicrosPerAnswer"`
	// Extrapolated: at least one drain was computed and not waited for.
	Extrapolated bool `json:"drainExtrapolated,omitempty"`
}

// summarize computes lines and ratios from the turns.
func (r *report) summarize() {
	for _, name := range reported() {
		turns := r.of(name)
		if len(turns) == 0 {
			continue
		}
		figures := func(of func(turn) float64) spread {
			var f []float64
			for _, t := range turns {
				if v := of(t); v > 0 { // what was not measured is 0
					f = append(f, v)
				}
			}
			return over(f)
		}
		r.Lines = append(r.Lines, line{
			Contestant: name,
			Rate:       figures(rate),
			P50:        figures(func(t turn) float64 { return t.P50 }),
			P99:        figures(p99),
			Meanwhile:  figures(func(t turn) float64 { return t.Meanwhile }),
			Draining:   figures(draining),
			Drain:      figures(func(t turn) float64 { return t.Drain }),
			RowP99:     figures(rowP99),
			ClientCPU:  figures(func(t turn) float64 { return t.ClientCPU }),
			Costs: costs{
				Client:     figures(func(t turn) float64 { return t.Cost.Client }),
				Contestant: figures(func(t turn) float64 { return t.Cost.Contestant }),
				Redis:      figures(func(t turn) float64 { return t.Cost.Redis }),
				Database:   figures(func(t turn) float64 { return t.Cost.Database }),
				Sum:        figures(func(t turn) float64 { return t.Cost.sum() }),
			},
			Extrapolated: slices.ContainsFunc(turns, func(t turn) bool { return t.Extrapolated }),
		})
	}
	r.Ratios = r.ratios()
}

// of returns a contestant's turns, in the order of the rounds.
func (r *report) of(name string) []turn {
	turns := slices.DeleteFunc(slices.Clone(r.Turns), func(t turn) bool { return t.Contestant != name })
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.Round, b.Round) })
	return turns
}

// line returns a contestant's line; the zero line when it had no turn.
func (r *report) line(name string) line {
	for _, l := range r.Lines {
		if l.Contestant == name {
			return l
		}
	}
	return line{}
}

// percentile returns the latency below which the share q of all lies. It sorts them.
func percentile(micros []uint32, q float64) time.Duration {
	slices.Sort(micros)
	i := int(math.Ceil(q*float64(len(micros)))) - 1
	return time.Duration(micros[max(i, 0)]) * time.Microsecond
}

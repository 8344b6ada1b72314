package main

import (
	"cmp"
	"fmt"
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

// ratio is a quotient of two contestants, taken within each round.
type ratio struct {
	ID     string `json:"id"` // as in the list of targets
	What   string `json:"what"`
	Target string `json:"target,omitempty"`
	spread
}

func (r ratio) String() string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", r.Median, r.Low, r.High)
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
	ClientCPU  spread `json:"loadGeneratorProcessors"`
	// Extrapolated: at least one drain was computed and not waited for.
	Extrapolated bool `json:"drainExtrapolated,omitempty"`
}

// summarize computes lines and ratios from the turns.
func (r *report) summarize() {
	var names []string
	for _, t := range r.Turns {
		if !slices.Contains(names, t.Contestant) {
			names = append(names, t.Contestant)
		}
	}
	for _, name := range names {
		figures := func(of func(turn) float64) spread {
			var f []float64
			for _, t := range r.of(name) {
				if v := of(t); v > 0 { // what was not measured is 0
					f = append(f, v)
				}
			}
			return over(f)
		}
		l := line{
			Contestant: name,
			Rate:       figures(func(t turn) float64 { return t.Rate }),
			P50:        figures(func(t turn) float64 { return t.P50 }),
			P99:        figures(func(t turn) float64 { return t.P99 }),
			Meanwhile:  figures(func(t turn) float64 { return t.Meanwhile }),
			Draining:   figures(func(t turn) float64 { return t.Draining }),
			Drain:      figures(func(t turn) float64 { return t.Drain }),
			ClientCPU:  figures(func(t turn) float64 { return t.ClientCPU }),
		}
		l.Extrapolated = slices.ContainsFunc(r.of(name), func(t turn) bool { return t.Extrapolated })
		r.Lines = append(r.Lines, l)
	}
	rate := func(t turn) float64 { return t.Rate }
	draining := func(t turn) float64 { return t.Draining }
	r.Ratios = []ratio{
		r.ratio("P1", "sold-out refusals / bare handler", "≥ 0.95", soldOutName, bareName, rate),
		r.ratio("P2", "accepted, recorders on / bare handler", "≥ 0.50", serviceName, bareName, rate),
		r.ratio("P3", "accepted / as the tutorials do, recorders on in both", "≥ 1.8", serviceName, tutorialName, rate),
		r.ratio("P3", "accepted / as the tutorials do, admission alone", "≥ 2.2", serviceHeldName, tutorialHeldName, rate),
		r.ratio("P4", "accepted with appendfsync always / everysec", "≥ 0.80", alwaysName, serviceName, rate),
		r.ratio("P5", "recorded, draining a backlog / raw insert", "≥ 0.70", serviceHeldName, rawInsertName, draining),
		r.ratio("P6", "recorded, draining a backlog / as the tutorials do", "≥ 40", serviceHeldName, tutorialHeldName, draining),
	}
}

// of returns a contestant's turns, in the order of the rounds.
func (r *report) of(name string) []turn {
	turns := slices.DeleteFunc(slices.Clone(r.Turns), func(t turn) bool { return t.Contestant != name })
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.Round, b.Round) })
	return turns
}

// ratio divides a figure of two contestants round by round.
func (r *report) ratio(id, what, target, above, below string, figure func(turn) float64) ratio {
	upper, lower := r.of(above), r.of(below)
	var q []float64
	for i := range min(len(upper), len(lower)) {
		if d := figure(lower[i]); d > 0 {
			q = append(q, figure(upper[i])/d)
		}
	}
	return ratio{id, what, target, over(q)}
}

// percentile returns the latency below which the share q of all lies. It sorts them.
func percentile(micros []uint32, q float64) time.Duration {
	slices.Sort(micros)
	i := int(math.Ceil(q*float64(len(micros)))) - 1
	return time.Duration(micros[max(i, 0)]) * time.Microsecond
}

package main

import (
	"fmt"

	"seckill/bench/chart"
)

// ratio is a figure that has a target: a quotient of two contestants, taken within each round, or a figure of one.
type ratio struct {
	ID    string  `json:"id"` // as in the list of targets
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"` // of a figure that is no quotient
	Goal  float64 `json:"target"`
	Below bool    `json:"targetIsUpperBound,omitempty"`
	spread
}

func rate(t turn) float64     { return t.Rate }
func p99(t turn) float64      { return t.P99 }
func draining(t turn) float64 { return t.Draining }
func rowP99(t turn) float64   { return t.RowP99 }

// ratios are all figures that have a target.
func (r *report) ratios() []ratio {
	const costs25PercentMore = 0.8 // of the rate
	return []ratio{
		r.quotient("P1", "sold-out refusals / bare handler", soldOutName, bareName, rate).atLeast(0.95),
		r.quotient("P2", "accepted, recorders on / bare handler", serviceName, bareName, rate).atLeast(0.5),
		r.quotient("P3", "accepted / as the tutorials do, recorders on in both", serviceName, streamName, rate).atLeast(1.8),
		r.quotient("P3", "accepted / as the tutorials do, admission alone", serviceHeldName, streamHeldName, rate).atLeast(2.2),
		r.quotient("P4", "accepted with appendfsync always / everysec", alwaysName, serviceName, rate).atLeast(0.8),
		r.quotient("P5", "recorded, draining a backlog / raw insert", serviceHeldName, rawInsertName, draining).atLeast(0.7),
		r.quotient("P6", "recorded, draining a backlog / as the tutorials do", serviceHeldName, streamHeldName, draining).atLeast(40),
		r.figure("P7", "from request to row, p99 at half load", "ms", serviceHalfName, rowP99).below(100),
		r.figure("P8", "drain of 100,000 accepted orders", "s", serviceHeldName, func(t turn) float64 { return t.drainOf(100_000) }).below(5),
		r.quotient("P9", "accepted, "+chart.Number(float64(r.Plan.Sales))+" sales in turn / one sale", manySalesName, oneSaleName, rate).atLeast(costs25PercentMore),
		r.quotient("P9", "accepted, stock 100 / stock 1,000,000", smallSalesName, manySalesName, rate).atLeast(costs25PercentMore),
		r.quotient("P9", "accepted, "+chart.Number(float64(r.Plan.Buyers))+" have bought / nobody has", fullSaleName, oneSaleName, rate).atLeast(costs25PercentMore),
		r.quotient("P10", "p99 at half load / bare handler at the same rate", serviceHalfName, bareHalfName, p99).below(3),
		r.figure("P11", "Redis memory per recorded order", "bytes", serviceHeldName, func(t turn) float64 { return t.RecordedBytes }).below(100),
		r.figure("P11", "Redis memory per waiting order", "bytes", serviceHeldName, func(t turn) float64 { return t.WaitingBytes }).below(300),
	}
}

// quotient divides a figure of two contestants round by round.
func (r *report) quotient(id, what, above, below string, figure func(turn) float64) ratio {
	upper, lower := r.of(above), r.of(below)
	var q []float64
	for i := range min(len(upper), len(lower)) {
		if d := figure(lower[i]); d > 0 {
			q = append(q, figure(upper[i])/d)
		}
	}
	return ratio{ID: id, What: what, spread: over(q)}
}

// figure takes a figure of one contestant from each round in which it was measured.
func (r *report) figure(id, what, unit, name string, figure func(turn) float64) ratio {
	var f []float64
	for _, t := range r.of(name) {
		if v := figure(t); v > 0 {
			f = append(f, v)
		}
	}
	return ratio{ID: id, What: what, Unit: unit, spread: over(f)}
}

func (q ratio) atLeast(goal float64) ratio { q.Goal = goal; return q }

func (q ratio) below(goal float64) ratio { q.Goal, q.Below = goal, true; return q }

// measured reports whether there is a figure at all.
func (q ratio) measured() bool { return q.spread != spread{} }

// met reports whether the median reaches the target.
func (q ratio) met() bool { return q.measured() && q.share(q.Median) >= 1 }

// share is how much of the target a figure reaches: 1 is all of it, more is better.
func (q ratio) share(figure float64) float64 {
	switch {
	case figure <= 0:
		return 0
	case q.Below:
		return q.Goal / figure
	}
	return figure / q.Goal
}

func (q ratio) String() string {
	if !q.measured() {
		return "–"
	}
	digits := 2
	if q.Median >= 20 {
		digits = 0
	}
	return q.text(digits) + q.unit()
}

// target is the target as text.
func (q ratio) target() string {
	sign := "≥"
	if q.Below {
		sign = "≤"
	}
	return fmt.Sprintf("%s %g%s", sign, q.Goal, q.unit())
}

func (q ratio) unit() string {
	if q.Unit == "" {
		return ""
	}
	return " " + q.Unit
}

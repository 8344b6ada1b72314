package main

import (
	"fmt"
	"io"
	"slices"

	"seckill/bench/result"
)

// round is what both did in a round.
type round struct{ ours, other sample }

// printReport prints the figures of both, and their ratios, which are taken round by round.
func printReport(w io.Writer, p plan, rounds []round, m result.Machine) {
	fmt.Fprintf(w, "\n%s. %s, %d × %s, Redis %s, database %s. %d rounds in turn, %s each, from %d connections.\n\n",
		m.Date, m.Go, m.Processors, m.Processor, m.Redis, m.Database, p.rounds, p.duration, p.connections)
	fmt.Fprintf(w, "| median (lowest–highest) | this service | %s | this service / %s |\n| --- | --- | --- | --- |\n", p.name, p.name)
	for _, row := range []struct {
		what   string
		figure func(sample) float64
	}{
		{"accepted a second", func(s sample) float64 { return s.rate }},
		{"p50 of an answer, ms", func(s sample) float64 { return s.p50 }},
		{"p99 of an answer, ms", func(s sample) float64 { return s.p99 }},
		{"recorded a second meanwhile", func(s sample) float64 { return s.meanwhile }},
		{"processor time of an accepted order, µs", func(s sample) float64 { return s.processor }},
	} {
		var ours, other, ratios []float64
		for _, r := range rounds {
			a, b := row.figure(r.ours), row.figure(r.other)
			ours, other = append(ours, a), append(other, b)
			if a > 0 && b > 0 {
				ratios = append(ratios, a/b)
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", row.what, spread(ours, 1), spread(other, 1), spread(ratios, 2))
	}
	var ours, other sample
	for _, r := range rounds {
		ours, other = ours.plus(r.ours), other.plus(r.other)
	}
	fmt.Fprintf(w, "| accepted, of all rounds | %d | %d | |\n", ours.accepted, other.accepted)
	fmt.Fprintf(w, "| refused, of all rounds | %d | %d | |\n", ours.refused, other.refused)
	missing := "not counted"
	if p.count != "" {
		missing = fmt.Sprint(other.missing)
	}
	fmt.Fprintf(w, "| accepted and without a row %s after the load; negative: more rows than accepted | %d | %s | |\n", p.settle, ours.missing, missing)
	if other.refusal != "" {
		fmt.Fprintf(w, "\nA refusal by %s: %s\n", p.name, other.refusal)
	}
	if other.refused > 0 || ours.refused > 0 {
		fmt.Fprintln(w, "\nSome were refused: rates are of acceptances, latencies of all answers. Is there enough stock, and has nobody of -tokens bought yet?")
	}
}

// plus adds what is counted.
func (s sample) plus(more sample) sample {
	s.accepted, s.refused, s.missing = s.accepted+more.accepted, s.refused+more.refused, s.missing+more.missing
	if more.refusal != "" {
		s.refusal = more.refusal
	}
	return s
}

// spread is the median with the lowest and the highest; what was not measured is a dash.
func spread(samples []float64, digits int) string {
	measured := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return v <= 0 })
	n := len(measured)
	if n == 0 {
		return "–"
	}
	slices.Sort(measured)
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, (measured[(n-1)/2]+measured[n/2])/2, digits, measured[0], digits, measured[n-1])
}

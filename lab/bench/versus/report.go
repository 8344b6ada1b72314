package versus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/lab/bench/result"
)

// report is a whole run.
type report struct {
	plan     plan
	machine  string
	old, new string
	rounds   []round
}

// markdown returns the report as it is printed and written.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s against %s\n\n", r.new, r.old)
	fmt.Fprintf(&b, "%s. %s; load generator, server, Redis and database share the machine. %d rounds, in "+
		"each of which %s, %s, and %s again take turns by slices; each has %s of purchases and %s of refusals in a "+
		"round, from %d connections.\n\n",
		time.Now().UTC().Format(time.DateOnly), r.machine, len(r.rounds), r.old, r.new, r.old, r.plan.accept,
		r.plan.refuse, r.plan.connections)
	if r.plan.shares != "" {
		fmt.Fprintf(&b, "Sales with shares of addresses: %s.\n\n", r.plan.shares)
	}
	fmt.Fprintf(&b, "Medians; of the builds with lowest and highest in brackets, of the ratios with the 95 "+
		"%% interval (bootstrap of the median).\n\n")
	fmt.Fprintf(&b, "| | %s | %s | new / old | old / old | nine of ten of these within | Verdict | more than "+
		"%+g %% to the worse |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n", r.old, r.new, r.plan.margin)
	for n, f := range figureList() {
		c := compare(r.rounds, n, f.better)
		excluded := "not excluded"
		if c.most < 1+r.plan.margin/100 {
			excluded = "excluded"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | ± %.1f %% | %s | %s |\n", f.name, values(c.old), values(c.new),
			ratio(c.change), ratio(c.floor), 100*(c.spread-1), c.verdict, excluded)
	}
	again := "OLD=" + r.old
	if r.plan.new != "" {
		again += " NEW=" + r.new
	}
	if r.plan.shares != "" {
		again += " SHARES=" + r.plan.shares
	}
	fmt.Fprintf(&b, "\nFewer than %d rounds decide nothing. Again: `make -C lab versus %s ROUNDS=%d`. "+
		"What is measured and how it is decided: `lab/bench/versus/doc.go`.\n", leastRounds, again, len(r.rounds))
	return b.String()
}

// machine says where the figures were measured.
func machine(m result.Machine) string {
	return fmt.Sprintf("%s on %s, %d processors, %s (appendfsync %s), database %s", m.Go, m.System, m.Processors,
		m.Redis, m.Durability["redis appendfsync"], m.Database)
}

// values formats a figure of a build.
func values(all []float64) string {
	format := "%.1f (%.1f–%.1f)"
	if median(all) >= 1000 {
		format = "%.0f (%.0f–%.0f)"
	}
	return fmt.Sprintf(format, median(all), slices.Min(all), slices.Max(all))
}

func ratio(e estimate) string { return fmt.Sprintf("%.3f (%.3f–%.3f)", e.median, e.low, e.high) }

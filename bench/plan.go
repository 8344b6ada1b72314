package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// plan is what one run does.
type plan struct {
	compares    bool // the contestants with each other
	limits      bool // limits and curves
	rounds      int
	duration    time.Duration // measured part of a turn
	warmUp      time.Duration // unmeasured part before it
	maxDrain    time.Duration // a longer drain is extrapolated, not waited for
	connections int
	scale       scalePlan
	sale        salePlan
	stampede    int // connections at most
	waiting     int // buyers who wait for their rows at once
	closing     closingPlan
	only        *regexp.Regexp // who takes part; nil: all
	out         string         // directory for the reports; "" writes none
}

func parse(args []string, stderr io.Writer) (plan, error) {
	p := plan{
		warmUp: 500 * time.Millisecond, maxDrain: 15 * time.Second,
		scale: scalePlan{sales: 1000, buyers: 1_000_000, requests: 20_000},
		sale:  salePlan{buyers: 1_000_000, units: 100_000}, stampede: 100_000,
		waiting: 10_000, closing: closingPlan{overdue: 200_000, pace: 5000, watched: 15 * time.Second},
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&p.limits, "limits", false, "measure limits and curves instead: connections, a stampede, sales, stock, a sale of a million buyers")
	flags.IntVar(&p.rounds, "rounds", 5, "how often every contestant has its turn; 5 or more for figures worth quoting")
	flags.DurationVar(&p.duration, "duration", 4*time.Second, "measured time of a turn; half a second of warm-up comes before it")
	flags.IntVar(&p.connections, "connections", 128, "buyers who press the button at the same time")
	flags.StringVar(&p.out, "out", "docs/benchmarks", "`directory` for the reports; empty writes none")
	flags.Func("only", "only the contestants whose names match this `expression`; neither written nor compared with all targets", func(text string) (err error) {
		p.only, err = regexp.Compile(text)
		return err
	})
	quick := flags.Bool("quick", false, "5 rounds of 500ms, in under three minutes, nothing written unless -out is given")
	smoke := flags.Bool("smoke", false, "1 round of 200ms, limits and curves too: that it runs and its books balance; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	p.compares = !p.limits
	if p.only != nil {
		p.out = ""
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	short := func(rounds int, d time.Duration) {
		if !given["rounds"] {
			p.rounds = rounds
		}
		if !given["duration"] {
			p.duration = d
		}
		if !given["out"] {
			p.out = ""
		}
	}
	switch {
	case *smoke:
		p.compares, p.limits = true, true
		short(1, 200*time.Millisecond)
		p.warmUp, p.maxDrain = 50*time.Millisecond, 100*time.Millisecond
		p.scale = scalePlan{sales: 10, buyers: 5000, requests: 500}
		p.sale, p.stampede = salePlan{buyers: 5000, units: 500}, 200
		p.waiting, p.closing = 200, closingPlan{overdue: 1000, pace: 500, watched: time.Second}
	case *quick:
		short(5, 500*time.Millisecond)
		p.warmUp, p.maxDrain = 200*time.Millisecond, time.Second
		p.scale = scalePlan{sales: 100, buyers: 100_000, requests: 2000}
		p.sale, p.stampede = salePlan{buyers: 100_000, units: 10_000}, 5000
		p.waiting, p.closing = 5000, closingPlan{overdue: 20_000, pace: 5000, watched: 3 * time.Second}
	}
	// What all small sales together have must last for all rounds.
	p.scale.requests = min(p.scale.requests, int64(smallStock*p.scale.sales/max(p.rounds, 1)))
	if flags.NArg() > 0 || p.rounds < 1 || p.duration <= 0 || p.connections < 1 {
		err := errors.New("-rounds, -duration and -connections must be positive, and there are no other arguments")
		fmt.Fprintln(stderr, "bench:", err)
		return p, err
	}
	return p, nil
}

// takesPart says whether one of the contestants is wanted.
func (p plan) takesPart(names ...string) bool {
	return p.only == nil || slices.ContainsFunc(names, p.only.MatchString)
}

// tokens is how many users a run needs.
func (p plan) tokens() int {
	n := int(fastest * (p.warmUp + p.duration).Seconds())
	n = max(n, rushUsers, p.rounds*int(p.scale.requests)+p.connections)
	if p.limits {
		n = max(n, int(fastest*(limitsWarmUp+p.duration).Seconds()), int(p.sale.buyers)+p.connections, p.stampede,
			p.waiting, int(p.closing.overdue), int(3*p.closing.pace*p.closing.watched.Seconds()))
	}
	return n
}

// planJSON is the plan as it stands in the report.
type planJSON struct {
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"secondsPerTurn"`
	Connections int     `json:"connections"`
	Sales       int     `json:"manySales"`
	Buyers      int64   `json:"manyBuyers"`
}

func (p plan) describe() planJSON {
	return planJSON{p.rounds, p.duration.Seconds(), p.connections, p.scale.sales, p.scale.buyers}
}

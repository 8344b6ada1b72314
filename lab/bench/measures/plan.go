package measures

import (
	"regexp"
	"slices"
	"time"

	"seckill/lab/bench/result"
	"seckill/lab/load"
)

// Plan is what one run does.
type Plan struct {
	Compare     bool // compare the candidates
	Limits      bool // measure limits and curves
	Rounds      int
	Duration    time.Duration // measured part of a trial
	WarmUp      time.Duration // unmeasured part before it
	MaxDrain    time.Duration // a longer drain is estimated instead of waited for
	Connections int
	Scale       ScalePlan
	Sale        SalePlan
	Stampede    int // most connections
	Waiting     int // buyers who wait for their rows at the same time
	Expiry      ExpiryPlan
	Only        *regexp.Regexp // which candidates take part; nil: all
	Before      string         // a commit whose service is measured in turn with this one; "": none
}

// ScalePlan says how different sales, stocks and buyers are when the benchmark measures whether they matter.
type ScalePlan struct {
	Sales    int   // the number of sales that is compared with one sale
	Buyers   int64 // the number of earlier buyers that is compared with none
	Requests int64 // requests of a burst
}

// SalePlan is a long sale, with more buyers than units.
type SalePlan struct{ Buyers, Units int64 }

// ExpiryPlan sets the measurement of expiry.
type ExpiryPlan struct {
	Overdue int64         // orders in the backlog
	Rate    float64       // purchases per second of the sale that goes on meanwhile
	Watched time.Duration // how long each expiry is watched
}

// Full is the plan for figures worth quoting.
func Full() Plan {
	return Plan{
		Rounds: 5, Duration: 4 * time.Second, WarmUp: 500 * time.Millisecond, MaxDrain: 15 * time.Second,
		Connections: 128, Scale: ScalePlan{Sales: 1000, Buyers: 1_000_000, Requests: 20_000},
		Sale: SalePlan{Buyers: 1_000_000, Units: 100_000}, Stampede: 100_000,
		Waiting: 10_000, Expiry: ExpiryPlan{Overdue: 200_000, Rate: 5000, Watched: 15 * time.Second},
	}
}

// Quick is the plan for a first impression of the figures, in under three minutes.
func Quick() Plan {
	return Plan{
		Rounds: 5, Duration: 500 * time.Millisecond, WarmUp: 200 * time.Millisecond, MaxDrain: time.Second,
		Connections: 128, Scale: ScalePlan{Sales: 100, Buyers: 100_000, Requests: 2000},
		Sale: SalePlan{Buyers: 100_000, Units: 10_000}, Stampede: 5000,
		Waiting: 5000, Expiry: ExpiryPlan{Overdue: 20_000, Rate: 5000, Watched: 3 * time.Second},
	}
}

// Smoke is the plan that only checks that everything runs and all counts add up; its figures mean nothing.
func Smoke() Plan {
	return Plan{
		Rounds: 1, Duration: 200 * time.Millisecond, WarmUp: 50 * time.Millisecond, MaxDrain: 100 * time.Millisecond,
		Connections: 128, Scale: ScalePlan{Sales: 10, Buyers: 5000, Requests: 500},
		Sale: SalePlan{Buyers: 5000, Units: 500}, Stampede: 200,
		Waiting: 200, Expiry: ExpiryPlan{Overdue: 1000, Rate: 500, Watched: time.Second},
	}
}

// fit shortens the bursts over many small sales, whose units together must last for all rounds.
func (p Plan) fit() Plan {
	p.Scale.Requests = min(p.Scale.Requests, int64(smallStock*p.Scale.Sales/max(p.Rounds, 1)))
	return p
}

// takesPart reports whether one of the candidates is wanted.
func (p Plan) takesPart(names ...string) bool {
	return p.Only == nil || slices.ContainsFunc(names, p.Only.MatchString)
}

// users returns how many users a run needs.
func (p Plan) users() int {
	n := int(load.MaxRate * (p.WarmUp + p.Duration).Seconds())
	n = max(n, contentionUsers, p.Rounds*int(p.Scale.Requests)+p.Connections)
	if p.Limits {
		n = max(n, int(load.MaxRate*(limitsWarmUp+p.Duration).Seconds()), int(p.Sale.Buyers)+p.Connections, p.Stampede,
			p.Waiting, int(p.Expiry.Overdue), int(3*p.Expiry.Rate*p.Expiry.Watched.Seconds()))
	}
	return n
}

// describe returns the plan as the result contains it.
func (p Plan) describe() result.Plan {
	return result.Plan{
		Rounds: p.Rounds, Seconds: p.Duration.Seconds(), Connections: p.Connections,
		Sales: p.Scale.Sales, Buyers: p.Scale.Buyers,
	}
}

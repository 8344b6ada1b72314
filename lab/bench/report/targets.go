package report

import (
	"fmt"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// targets returns all figures that have a target.
func (c comparison) targets() []result.Target {
	sales, buyers := figure(float64(c.plan.Sales)), figure(float64(c.plan.Buyers))
	return []result.Target{
		atLeast(0.85, c.ratio("P1", "sold-out refusals / plain Gin", result.Rate, candidate.SoldOut, candidate.Gin)),
		atLeast(0.5, c.ratio("P2", "accepted, recorders on / plain Gin", result.Rate,
			candidate.Service, candidate.Gin)),
		atMost(1.35, c.overFloor()),
		atLeast(1.9, c.ratio("P3", "accepted / as the tutorials do, recorders on in both", result.Rate,
			candidate.Service, candidate.Stream)),
		atLeast(2.4, c.ratio("P3", "accepted / as the tutorials do, admission alone", result.Rate,
			candidate.ServiceHeld, candidate.StreamHeld)),
		atLeast(0.9, c.ratio("P4", "accepted with appendfsync always / everysec", result.Rate,
			candidate.Always, candidate.Service)),
		atLeast(0.8, c.ratio("P5", "recorded, draining a backlog / raw insert", result.RecordedDraining,
			candidate.ServiceHeld, candidate.RawInsert)),
		atLeast(100, c.ratio("P6", "recorded, draining a backlog / as the tutorials do", result.RecordedDraining,
			candidate.ServiceHeld, candidate.StreamHeld)),
		atMost(15, c.figure("P7", "from request to row, p99 at half load", "ms", candidate.ServiceHalf, result.RowP99)),
		atMost(1.2, c.drainOf(100_000)),
		atLeast(0.85, c.ratio("P9", "accepted, "+sales+" sales in turn / one sale", result.Rate,
			candidate.ManySales, candidate.OneSale)),
		atLeast(0.85, c.ratio("P9", "accepted, stock 100 / stock 1,000,000", result.Rate,
			candidate.SmallSales, candidate.ManySales)),
		atLeast(0.85, c.ratio("P9", "accepted, "+buyers+" have bought / nobody has", result.Rate,
			candidate.FullSale, candidate.OneSale)),
		atMost(2.5, c.ratio("P10", "p99 at half load / plain Gin at the same rate", result.P99,
			candidate.ServiceHalf, candidate.GinHalf)),
		atMost(70, c.figure("P11", "Redis memory per recorded order", "bytes",
			candidate.ServiceHeld, result.RecordedBytes)),
		atMost(85, c.figure("P11", "Redis memory per waiting order", "bytes",
			candidate.ServiceHeld, result.WaitingBytes)),
		atLeast(0.8, c.ratio("P14", "lists of 50 vouchers / plain Gin with as long a body", result.Rate,
			candidate.ServiceList, candidate.GinList)),
		atMost(0.001, c.figure("P14", "store calls per list", "", candidate.ServiceList, result.StoreCalls)),
		atMost(1.5, c.ratio("P15", "p99 of purchases with 200 readers of a list of 1 MB / without", result.P99,
			candidate.Readers, candidate.ServiceHalf)),
	}
}

// ratio divides a figure of one candidate by that of another, round by round.
func (c comparison) ratio(id, what string, figure result.Name, above, below string) result.Target {
	upper, lower := c.samples(above, figure), c.samples(below, figure)
	t := result.Target{ID: id, What: what}
	for i := range min(len(upper), len(lower)) {
		if lower[i] > 0 {
			t.Samples = append(t.Samples, upper[i]/lower[i])
		}
	}
	return t
}

// overFloor divides the cost of an accepted and recorded order, over all processes, by the floor of a purchase: plain
// Gin with its load, one HMAC, the raw script in Redis and the raw insert in the database, round by round.
func (c comparison) overFloor() result.Target {
	t := result.Target{ID: "P2b", What: "processor time of an order / floor of a purchase"}
	all, floor := c.totalTimes(candidate.Service), c.floors()
	for i := range min(len(all), len(floor)) {
		if all[i] > 0 && floor[i] > 0 {
			t.Samples = append(t.Samples, all[i]/floor[i])
		}
	}
	return t
}

// figure returns a figure of one candidate.
func (c comparison) figure(id, what, unit, name string, figure result.Name) result.Target {
	return result.Target{ID: id, What: what, Unit: unit, Samples: c.samples(name, figure)}
}

// drainOf scales the drain to a backlog of that many orders, if the backlog was large enough to measure with.
func (c comparison) drainOf(orders float64) result.Target {
	t := result.Target{ID: "P8", What: "drain of " + figure(orders) + " accepted orders", Unit: "s"}
	drains := c.samples(candidate.ServiceHeld, result.Drain)
	for i, backlog := range c.samples(candidate.ServiceHeld, result.Backlog) {
		if i < len(drains) && backlog >= result.LeastBacklog {
			t.Samples = append(t.Samples, drains[i]*orders/backlog)
		}
	}
	return t
}

func atLeast(goal float64, t result.Target) result.Target {
	t.Goal = goal
	return t
}

func atMost(goal float64, t result.Target) result.Target {
	t.Goal, t.UpperBound = goal, true
	return t
}

// verdict says whether the median reaches the target.
func verdict(t result.Target) string {
	if reached(t, over(t.Samples).median) >= 1 {
		return "met"
	}
	return "missed"
}

// reached returns how much of the target a figure reaches: 1 is all of it, more is better.
func reached(t result.Target, figure float64) float64 {
	switch {
	case figure <= 0:
		return 0
	case t.UpperBound:
		return t.Goal / figure
	}
	return figure / t.Goal
}

// targetFigure is the figure with its spread and unit.
func targetFigure(t result.Target) string {
	s := over(t.Samples)
	if s == (spread{}) {
		return "–"
	}
	digits := 2
	switch {
	case s.median >= 20:
		digits = 0
	case s.median < 0.01:
		digits = 5
	}
	return s.text(digits) + unit(t)
}

// goal returns the target as text.
func goal(t result.Target) string {
	sign := "≥"
	if t.UpperBound {
		sign = "≤"
	}
	return fmt.Sprintf("%s %g%s", sign, t.Goal, unit(t))
}

func unit(t result.Target) string {
	if t.Unit == "" {
		return ""
	}
	return " " + t.Unit
}

// targetTable has a row for each target.
func targetTable(targets []result.Target) string {
	rows := [][]string{{"", "Figure", "Median (low–high)", "Target", ""}}
	for _, t := range targets {
		rows = append(rows, []string{t.ID, t.What, targetFigure(t), goal(t), verdict(t)})
	}
	return grid(rows)
}

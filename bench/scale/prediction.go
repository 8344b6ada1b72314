package main

import (
	"math"
	"slices"
	"time"
)

// prediction is one figure, predicted and measured.
type prediction struct{ predicted, measured float64 }

// off returns by what part of the measured figure the prediction is off.
func (p prediction) off() float64 { return p.predicted/p.measured - 1 }

// predictions are what an order costs at a point: the service, Redis, the database, and together.
func (m model) predictions(p point) (all []prediction) {
	want := m.cost(p.load())
	for _, figure := range []func(sample) float64{service, redis, database, together} {
		all = append(all, prediction{figure(want), p.median(figure).median})
	}
	return all
}

// offsets are between what bounds the predictions of each process, and of all together, are off.
type offsets struct {
	points                             int
	service, redis, database, together spread
}

// offsetsOf returns how far the model is off at the points.
func (m model) offsetsOf(points []point) offsets {
	var offs [4][]float64
	for _, p := range points {
		for i, one := range m.predictions(p) {
			offs[i] = append(offs[i], one.off())
		}
	}
	return offsets{len(points), spreadOf(offs[0]), spreadOf(offs[1]), spreadOf(offs[2]), spreadOf(offs[3])}
}

// hold reports whether something was predicted, and always near enough.
func (o offsets) hold() bool {
	near := func(off spread) bool { return off.low >= -farthest && off.high <= farthest }
	return o.points > 0 && near(o.service) && near(o.redis) && near(o.database) && near(o.together)
}

// predicted are the points that the model is not fitted on.
func (f figures) predicted() []point {
	return slices.DeleteFunc(slices.Clone(f.Points), point.isFitted)
}

// curves are those of them with several instances or several shares. Both at once is shown too, and goes beyond the curves.
func (f figures) curves() []point {
	return slices.DeleteFunc(f.predicted(), func(p point) bool { return p.Instances > 1 && p.Shares > 1 })
}

// What is assumed in a calculation.
const (
	busy        = 0.6                   // of each processor is used: the rest is for what comes unevenly
	perInstance = 4                     // processors of an instance
	maxShares   = 16                    // of one sale (voucher.MaxShares)
	answerTime  = 10 * time.Millisecond // how long a buyer waits: so many purchases are under way at once
)

// demand is what so many purchases a second need.
type demand struct {
	load // a Redis master has one processor for commands, and one share
	cost sample
}

// demandOf calculates the demand. The more instances and masters, the more an order costs, so the numbers that just suffice are looked for.
func (m model) demandOf(rate float64) demand {
	d := demand{load: load{instances: 1, shares: 1, batch: batch, crowd: rate * answerTime.Seconds(), rate: rate}}
	for {
		d.cost = m.cost(d.load)
		instances, shares := needed(rate*d.cost.Service/1e6, busy*perInstance), needed(rate*d.cost.Redis/1e6, busy)
		if instances <= d.instances && shares <= d.shares {
			return d
		}
		d.instances, d.shares = max(instances, d.instances), max(shares, d.shares)
	}
}

// needed returns how many of something are needed that each have so much.
func needed(all, each float64) int { return max(1, int(math.Ceil(all/each))) }

// between returns how many are needed if the prediction is off as others were.
func between(all, each float64, off spread) (low, high int) {
	return needed(all/(1+off.high), each), needed(all/(1+off.low), each)
}

// hottest returns how many purchases of one sale a second use the masters of its shares as much as is allowed, rounded down to thousands.
func (m model) hottest() float64 {
	const step, most = 1000, 1e8
	rate := 0.0
	for rate < most && m.demandOf(rate+step).shares <= maxShares {
		rate += step
	}
	return rate
}

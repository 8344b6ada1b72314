package main

import (
	"slices"
	"time"
)

// The model: in each process an order costs something by itself, and a part of what it does together with others, a + b/n.
//
//   - In the service and in Redis n are the buyers who ask at once at one instance for one share: they share calls of Redis.
//   - In the database n are the orders that one instance accepts for one share in 15 ms: they share a transaction.
//
// Both n follow from how many instances and shares there are, so the six figures can be fitted on one instance and a sale that is not split.

const (
	gatherTime = 15 * time.Millisecond // between two reads of a recorder (internal/order/recorder)
	maxCall    = 256                   // most requests in a call of Redis (redisstore.MaxRequests)

	// batch is SECKILL_RECORD_BATCH, but where small transactions are measured: so many that one recorder keeps up with all that two
	// processors accept. Where it does not, orders have an entry each (ADR 34).
	batch = 1000
)

// farthest is how far off a prediction may be for a calculation to be worth publishing.
const farthest = 0.20

// mostBuyers is with how many at once one recorder keeps up with a sale that is not split, on the two processors that all processes share.
// With more, over 1,000 entries come to wait (docs/scale.md has a count), and orders have an entry each (ADR 34): another line.
const mostBuyers = 128

// keepsUp reports whether the recorder keeps up at a point of one instance and one share.
func (p point) keepsUp() bool { return p.Batch == batch && p.Crowd <= mostBuyers }

// line is what an order costs a process: by itself, and of what n of them share.
type line struct{ order, shared float64 }

func (l line) at(n float64) float64 { return l.order + l.shared/n }

// newLine fits a line to costs: least squares of the relative errors.
func newLine(costs []cost) line {
	var w, wx, wy, wxx, wxy float64
	for _, c := range costs {
		x, y := 1/c.n, c.micros
		weight := 1 / (y * y)
		w, wx, wy, wxx, wxy = w+weight, wx+weight*x, wy+weight*y, wxx+weight*x*x, wxy+weight*x*y
	}
	shared := (w*wxy - wx*wy) / (w*wxx - wx*wx)
	return line{order: (wy - shared*wx) / w, shared: shared}
}

// cost is what an order cost where n shared.
type cost struct{ n, micros float64 }

// model has a line for each process.
type model struct{ service, redis, database line }

// The figures of a sample.
func accepted(s sample) float64 { return s.Accepted }
func service(s sample) float64  { return s.Service }
func redis(s sample) float64    { return s.Redis }
func database(s sample) float64 { return s.Database }
func together(s sample) float64 { return s.Service + s.Redis + s.Database }

// load is how much is to be done, by how many.
type load struct {
	instances, shares int
	batch             int     // most orders in a transaction
	crowd, rate       float64 // buyers who ask at once; purchases a second
}

// atOnce returns how many buyers ask at once at one instance for one share.
func (l load) atOnce() float64 { return l.crowd / float64(l.instances*l.shares) }

// call returns how many of them share what calls cost.
func (l load) call() float64 { return min(l.atOnce(), maxCall) }

// transaction returns how many orders share a transaction.
func (l load) transaction() float64 {
	return max(1, min(float64(l.batch), l.rate*gatherTime.Seconds()/float64(l.instances*l.shares)))
}

// load is what was measured at the point.
func (p point) load() load {
	return load{instances: p.Instances, shares: p.Shares, batch: p.Batch, crowd: float64(p.Crowd), rate: p.median(accepted).median}
}

// isFitted reports whether the model is fitted on the point; all others it predicts.
func (p point) isFitted() bool { return p.Instances == 1 && p.Shares == 1 }

// newModel fits the model: what is shared by buyers where the recorder keeps up, transactions on all.
func newModel(points []point) model {
	var services, stores, transactions []cost
	for _, p := range slices.DeleteFunc(slices.Clone(points), func(p point) bool { return !p.isFitted() }) {
		l := p.load()
		transactions = append(transactions, cost{l.transaction(), p.median(database).median})
		if p.keepsUp() {
			services = append(services, cost{l.call(), p.median(service).median})
			stores = append(stores, cost{l.call(), p.median(redis).median})
		}
	}
	return model{newLine(services), newLine(stores), newLine(transactions)}
}

// cost predicts what an order costs.
func (m model) cost(l load) sample {
	return sample{Accepted: l.rate, Service: m.service.at(l.call()), Redis: m.redis.at(l.call()), Database: m.database.at(l.transaction())}
}

package guard

import (
	"net/netip"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

// Count names what is counted of a sale's guards. It is a field of a hash in Redis.
type Count string

// StoppedCount is how many requests a guard stopped, or with DryRun would have.
func StoppedCount(n guards.Name, s guards.State) Count {
	if s == guards.DryRun {
		return Count("dry:" + n)
	}
	return Count("stop:" + n)
}

// Age is a class of accounts by how long ago they were made.
type Age string

// The classes, the youngest first.
const (
	AgeUnknown Age = "unknown"
	AgeDay     Age = "day"   // less than a day
	AgeWeek    Age = "week"  // less than a week
	AgeMonth   Age = "month" // less than thirty days
	AgeYear    Age = "year"  // less than 365 days
	AgeOlder   Age = "older"
)

// Ages returns all classes.
func Ages() []Age { return []Age{AgeUnknown, AgeDay, AgeWeek, AgeMonth, AgeYear, AgeOlder} }

// AgeOf returns the class of an account that was made at the time since; zero: not known.
func AgeOf(since, now time.Time) Age {
	age := now.Sub(since)
	switch {
	case since.IsZero():
		return AgeUnknown
	case age < day:
		return AgeDay
	case age < 7*day:
		return AgeWeek
	case age < 30*day:
		return AgeMonth
	case age < 365*day:
		return AgeYear
	default:
		return AgeOlder
	}
}

// UnitsCount is how many units accounts of an age got.
func UnitsCount(a Age) Count { return Count("units:" + a) }

// NetworkCount is what was counted of a network, a /24 or a /48 in text; OtherNetworks stands for all that were not
// counted by name.
type NetworkCount struct {
	Network string
	Count   int64
}

// OtherNetworks are those that found no room, and callers whose address is not known.
const OtherNetworks = "other"

// maxNetworks bounds how many networks an instance counts by name in a sale between two flushes.
const maxNetworks = 500

// Delta is what was counted in a sale between two flushes.
type Delta struct {
	Counts  map[Count]int64
	Stopped map[string]int64 // requests that guards stopped or would have, by network
	Units   map[string]int64 // units by network
}

func newDelta() *Delta {
	return &Delta{Counts: make(map[Count]int64), Stopped: make(map[string]int64), Units: make(map[string]int64)}
}

// Figures is what people read of a sale's guards, over all instances. What has not reached Redis is missing, and a
// network that found no room is under OtherNetworks for that second: counts may be too low, and are never too high.
type Figures struct {
	Counts  map[Count]int64
	Stopped []NetworkCount // the ten highest
	Units   []NetworkCount // the ten highest
}

// Tally counts for people who watch what the guards of sales do. It decides nothing. It is safe for concurrent use, and
// bounded: what is counted per sale between two flushes is.
type Tally struct {
	now   func() time.Time
	mu    sync.Mutex
	sales map[int64]*Delta
}

// NewTally returns an empty tally; now tells how old accounts are.
func NewTally(now func() time.Time) *Tally { return &Tally{now: now, sales: make(map[int64]*Delta)} }

func (t *Tally) stopped(saleID int64, by guards.Name, s guards.State, a netip.Addr) {
	network := networkName(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of(saleID)
	d.Counts[StoppedCount(by, s)]++
	add(d.Stopped, network, 1)
}

// Sold counts units that a caller got in a sale with guards.
func (t *Tally) Sold(saleID int64, c Caller, units int64) {
	network, age := networkName(c.Address), AgeOf(c.Claims.Since, t.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of(saleID)
	d.Counts[UnitsCount(age)] += units
	add(d.Units, network, units)
}

// Take returns what was counted since the last call, by sale, and counts anew.
func (t *Tally) Take() map[int64]*Delta {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.sales
	if len(taken) > 0 {
		t.sales = make(map[int64]*Delta)
	}
	return taken
}

// PutBack adds what was taken and went nowhere.
func (t *Tally) PutBack(saleID int64, back *Delta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of(saleID)
	for c, n := range back.Counts {
		d.Counts[c] += n
	}
	for network, n := range back.Stopped {
		add(d.Stopped, network, n)
	}
	for network, n := range back.Units {
		add(d.Units, network, n)
	}
}

func (t *Tally) of(saleID int64) *Delta {
	d := t.sales[saleID]
	if d == nil {
		d = newDelta()
		t.sales[saleID] = d
	}
	return d
}

// add counts n for a network, or for the others once there are too many.
func add(networks map[string]int64, network string, n int64) {
	if _, known := networks[network]; !known && len(networks) >= maxNetworks {
		network = OtherNetworks
	}
	networks[network] += n
}

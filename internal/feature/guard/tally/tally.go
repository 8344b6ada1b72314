package tally

import (
	"net/netip"
	"sync"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/voucher/guards"
)

// Count names a count of a sale's guards. It is a field of a hash in Redis.
type Count string

// StoppedCount counts the requests that a guard stopped, or with DryRun would have stopped.
func StoppedCount(n guards.Name, s guards.State) Count {
	if s == guards.DryRun {
		return Count("dry:" + n)
	}
	return Count("stop:" + n)
}

// Age is a class of accounts by their age.
type Age string

// The classes of age, the youngest first.
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

const day = 24 * time.Hour

// AgeOf returns the class of an account created at the time since; zero is an unknown time.
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

// UnitsCount counts the units that accounts of an age got.
func UnitsCount(a Age) Count { return Count("units:" + a) }

// NetworkCount is a network's counts, a /24 or a /48 in text; OtherNetworks stands for all networks without counts of
// their own.
type NetworkCount struct {
	Network string `json:"network"`
	Count   int64  `json:"count"`
}

// OtherNetworks stands for networks that found no room, and for callers whose address is unknown.
const OtherNetworks = "other"

// maxNetworks bounds how many networks of a sale an instance counts separately between two flushes.
const maxNetworks = 500

// Delta has a sale's counts between two flushes.
type Delta struct {
	Counts  map[Count]int64
	Stopped map[string]int64 // requests that guards stopped or would have, by network
	Units   map[string]int64 // units by network
}

func newDelta() *Delta {
	return &Delta{Counts: make(map[Count]int64), Stopped: make(map[string]int64), Units: make(map[string]int64)}
}

// Figures is a sale's counts over all instances, for people. It lacks what has not reached Redis yet, and counts a
// network that found no room under OtherNetworks until the next flush: counts may be too low, and are never too high.
type Figures struct {
	Counts  map[Count]int64
	Stopped []NetworkCount // the ten networks with the most requests
	Units   []NetworkCount // the ten networks with the most units
}

// Tally counts the guards' decisions, for people who watch a sale. No decision depends on it. It is safe for concurrent
// use, and bounded per sale between two flushes.
type Tally struct {
	now   func() time.Time
	mu    sync.Mutex
	sales map[int64]*Delta
}

// New returns an empty tally; now is the clock by which accounts have an age.
func New(now func() time.Time) *Tally { return &Tally{now: now, sales: make(map[int64]*Delta)} }

// Stopped counts a request from an address that a guard stopped, or with DryRun would have stopped.
func (t *Tally) Stopped(saleID int64, by guards.Name, s guards.State, a netip.Addr) {
	network := networkName(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of(saleID)
	d.Counts[StoppedCount(by, s)]++
	add(d.Stopped, network, 1)
}

// Sold counts units of a sale with guards that an account created at the time since bought from an address.
func (t *Tally) Sold(saleID int64, since time.Time, a netip.Addr, units int64) {
	network, age := networkName(a), AgeOf(since, t.now())
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.of(saleID)
	d.Counts[UnitsCount(age)] += units
	add(d.Units, network, units)
}

// Take returns the counts since the last call, by sale.
func (t *Tally) Take() map[int64]*Delta {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.sales
	if len(taken) > 0 {
		t.sales = make(map[int64]*Delta)
	}
	return taken
}

// PutBack adds counts that Take has returned and that could not be stored.
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

// add counts n for a network, or for OtherNetworks once there are too many networks.
func add(networks map[string]int64, network string, n int64) {
	if _, known := networks[network]; !known && len(networks) >= maxNetworks {
		network = OtherNetworks
	}
	networks[network] += n
}

// networkName is the name under which statistics count an address's network; OtherNetworks if the address is unknown.
func networkName(a netip.Addr) string {
	if of := budget.Network(a); of.IsValid() {
		return of.String()
	}
	return OtherNetworks
}

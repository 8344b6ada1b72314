package checker

import (
	"cmp"
	"fmt"
	"slices"
)

// maxKept is how many findings of each invariant a report keeps: the first few show what is wrong.
const maxKept = 50

// Check returns every contradiction in the evidence.
func Check(e Evidence) Report {
	answers := 0
	for range e.Answers {
		answers++
	}
	c := check{
		e: e, buyers: make(map[int64]buyer, answers), // growing it would take up to twice the memory
		promises: map[int64]promise{},
		released: map[int64]bool{}, lost: map[int64]bool{}, kept: map[Invariant]int{},
		report: Report{Findings: []Finding{}, Undecided: []Gap{}}, // not nil, so that JSON has empty lists
	}
	c.readAnswers()
	for _, v := range e.Views {
		c.checkView(v)
	}
	c.checkPromises()
	c.checkResolved()
	c.checkStocks()
	c.checkRedis()
	c.checkSoldOut()
	c.addGaps()
	for id := range c.lost {
		c.report.Lost = append(c.report.Lost, id)
	}
	slices.Sort(c.report.Lost)
	c.addHistories()
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(len(a.Invariant), len(b.Invariant)), cmp.Compare(a.Invariant, b.Invariant))
	})
	return c.report
}

// check is the state of one call of Check: the evidence, indexed.
type check struct {
	e        Evidence
	buyers   map[int64]buyer   // everybody who asked to buy
	promises map[int64]promise // all orders that answers named
	released map[int64]bool    // orders whose cancellation or refund was requested
	lost     map[int64]bool    // promised orders that are missing, excused by a loss
	soldOuts int64             // SOLD_OUT answers
	kept     map[Invariant]int
	report   Report
}

// subject is the users and orders whose history explains a finding.
type subject struct{ users, orders []int64 }

func about(user int64, orders ...int64) subject { return subject{[]int64{user}, orders} }

func (c *check) find(i Invariant, s subject, format string, args ...any) {
	c.report.Total++
	if c.kept[i]++; c.kept[i] > maxKept {
		return
	}
	c.report.Findings = append(c.report.Findings, Finding{
		Invariant: i, What: fmt.Sprintf(format, args...), users: s.users, orders: s.orders,
	})
}

func (c *check) undecided(i Invariant, format string, args ...any) {
	c.report.Undecided = append(c.report.Undecided, Gap{i, fmt.Sprintf(format, args...)})
}

// addGaps reports the invariants that could not be checked because a source is missing.
func (c *check) addGaps() {
	if c.e.complete() == nil {
		c.undecided(NoOversell, "there was no list of all orders; only orders named by answers were counted")
		c.undecided(OnePerUser, "there was no list of all orders; an order that no answer named would go unnoticed")
	}
	if c.e.complete() == nil || c.e.Others {
		c.undecided(AskedFor, "others may have bought as well, or there was no list of all orders")
	}
	if len(c.e.Views) == 0 {
		c.undecided(Settled, "there was no list of orders")
	}
	if c.e.LedgerStock == nil {
		c.undecided(Conservation, "the ledger's stock could not be read")
	}
	if c.e.ShownStock == nil {
		c.undecided(Conservation, "the stock shown to buyers could not be read")
	}
	if c.e.Redis == nil {
		c.undecided(Conservation, "Redis could not be read: its stock, holders and dead letters")
	}
	if c.e.Loss {
		c.undecided(Settled, "a store lost acknowledged writes; %d accepted orders are missing or failed",
			len(c.lost))
		c.undecided(TrueAnswers, "a store lost acknowledged writes")
		c.undecided(Resolved, "a store lost acknowledged writes")
	}
}

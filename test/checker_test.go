package test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// evidence is everything that is known of one sale at a quiescent point, from three witnesses: the clients' record,
// the ledger, and Redis.
type evidence struct {
	answers     []answer
	rows        []row
	issued      int64 // units issued in all, as they were when the sale was created
	ledgerStock int64
	shownStock  int64     // as GET /voucher/:id shows it
	live        *liveView // nil where Redis cannot be looked into
}

// gather reads the evidence of a sale.
func (s *site) gather(ctx context.Context, tb testing.TB, c *crowd, issued int64) (evidence, error) {
	tb.Helper()
	e := evidence{answers: c.record.all(), issued: issued}
	var err error
	if e.rows, err = s.ledger.orders(ctx, c.voucher); err != nil {
		return e, err
	}
	var ledgerIssued int64
	if e.ledgerStock, ledgerIssued, err = s.ledger.sale(ctx, c.voucher); err != nil {
		return e, err
	}
	if ledgerIssued != issued {
		return e, fmt.Errorf("the ledger says that %d units were issued, not %d", ledgerIssued, issued)
	}
	if shown := s.voucher(tb, c.voucher); shown.Stock != nil {
		e.shownStock = *shown.Stock
	}
	if s.live != nil {
		v, err := s.live.view(ctx, c.voucher)
		if err != nil {
			return e, err
		}
		e.live = &v
	}
	return e, nil
}

// check waits until nothing of the sale is under way any more and every witness agrees, and fails the test with all
// that they still contradict each other in when patience runs out.
func (s *site) check(tb testing.TB, c *crowd, issued int64) evidence {
	tb.Helper()
	var e evidence
	eventually(tb, "the agreement of record, ledger and Redis", func() error {
		var err error
		if e, err = s.gather(tb.Context(), tb, c, issued); err != nil {
			return err
		}
		if wrong := e.violations(); len(wrong) > 0 {
			return fmt.Errorf("%d violations, answers %v:\n  %s", len(wrong), c.record.tally(), strings.Join(head(wrong), "\n  "))
		}
		return nil
	})
	return e
}

// head shortens a list for people.
func head(list []string) []string {
	const shown = 12
	if len(list) <= shown {
		return list
	}
	return append(slices.Clone(list[:shown]), fmt.Sprintf("… and %d more", len(list)-shown))
}

// violations returns everything in which the evidence contradicts an invariant, sorted. It knows nothing of faults:
// what it asserts holds after any of them that lost no acknowledged write of a store.
func (e evidence) violations() []string {
	var v findings
	e.checkRows(&v)
	e.checkAnswers(&v)
	e.checkStock(&v)
	e.checkRedis(&v)
	slices.Sort(v.list)
	return v.list
}

type findings struct{ list []string }

func (f *findings) add(invariant, format string, args ...any) {
	f.list = append(f.list, invariant+": "+fmt.Sprintf(format, args...))
}

// checkRows: the ledger by itself, and against who asked.
func (e evidence) checkRows(v *findings) {
	asked := map[int64]bool{}
	for _, a := range e.answers {
		asked[a.user] = true
	}
	liveOf, ids, live := map[int64]int64{}, map[int64]bool{}, int64(0)
	for _, r := range e.rows {
		if ids[r.id] || r.id <= 0 {
			v.add("I10 ids", "order id %d is not unique and positive", r.id)
		}
		ids[r.id] = true
		if !asked[r.user] {
			v.add("I4 asked for", "order %d of user %d, who never asked", r.id, r.user)
		}
		if r.status == statusFailed {
			v.add("I3 settled", "order %d of user %d failed (%s), though no store lost anything", r.id, r.user, r.reason)
		}
		if !r.live() {
			continue
		}
		live++
		if other, twice := liveOf[r.user]; twice {
			v.add("I2 one per user", "user %d has the live orders %d and %d", r.user, other, r.id)
		}
		liveOf[r.user] = r.id
	}
	if live > e.issued {
		v.add("I1 no oversell", "%d live orders of %d units", live, e.issued)
	}
}

// checkAnswers: what the clients were told, against the ledger.
func (e evidence) checkAnswers(v *findings) {
	rows, owner := map[int64]row{}, map[int64]int64{}
	for _, r := range e.rows {
		rows[r.id] = r
	}
	told, last := map[int64]int64{}, map[int64]answer{}
	for _, a := range e.answers {
		last[a.user] = a
		switch a.verdict {
		case accepted, held:
			e.checkNamed(v, a, rows, told, owner)
		case refused:
			if a.code == "SOLD_OUT" && e.liveRows() < e.issued {
				v.add("I6 sold out", "user %d was told SOLD_OUT, with %d of %d units sold in the end", a.user, e.liveRows(), e.issued)
			}
			if id := told[a.user]; id != 0 {
				v.add("I6 winner told", "user %d has order %d and was told %s", a.user, id, a.code)
			}
		case unknown, later: // looked at below: only the last answer of a user must not be one of these
		}
	}
	for user, a := range last {
		if a.verdict == unknown || a.verdict == later {
			v.add("I12 unknown resolved", "user %d asked again and never knew: %s", user, a)
		}
	}
	for _, r := range e.rows {
		if _, knows := last[r.user]; knows && r.live() && told[r.user] != r.id {
			v.add("I6 winner told", "user %d has order %d and was last told: %s", r.user, r.id, last[r.user])
		}
	}
}

// checkNamed: one answer that named an order.
func (e evidence) checkNamed(v *findings, a answer, rows map[int64]row, told, owner map[int64]int64) {
	if before, ok := told[a.user]; ok && before != a.order {
		v.add("I6 same order", "user %d was told order %d, then %d", a.user, before, a.order)
	}
	told[a.user] = a.order
	if other, ok := owner[a.order]; ok && other != a.user {
		v.add("I10 ids", "order %d was given to the users %d and %d", a.order, other, a.user)
	}
	owner[a.order] = a.user
	switch r, ok := rows[a.order]; {
	case !ok:
		v.add("I3 settled", "order %d of user %d (%s) has no row", a.order, a.user, a.verdict)
	case r.user != a.user:
		v.add("I3 settled", "order %d was promised to user %d; its row is user %d's", a.order, a.user, r.user)
	case !r.live():
		v.add("I3 settled", "order %d of user %d has status %d", a.order, a.user, r.status)
	}
}

// checkStock: conservation in the ledger and in what people are shown.
func (e evidence) checkStock(v *findings) {
	if e.ledgerStock < 0 || e.ledgerStock+e.liveRows() != e.issued {
		v.add("I5 conservation", "the ledger has %d left and %d live orders of %d units", e.ledgerStock, e.liveRows(), e.issued)
	}
	if e.shownStock != e.ledgerStock {
		v.add("I5 conservation", "%d units are shown as left, the ledger has %d", e.shownStock, e.ledgerStock)
	}
}

// checkRedis: conservation in Redis, and its buyers against the ledger's live orders.
func (e evidence) checkRedis(v *findings) {
	if e.live == nil {
		return
	}
	if got := e.live.stock + e.live.waiting + e.live.dead + e.liveRows(); got != e.issued {
		v.add("I5 conservation", "redis has %d left, %d waiting, %d dead letters; with %d live orders that is %d of %d units",
			e.live.stock, e.live.waiting, e.live.dead, e.liveRows(), got, e.issued)
	}
	if e.live.dead > 0 {
		v.add("I3 settled", "%d dead letters", e.live.dead)
	}
	seated := map[int64]bool{}
	for _, r := range e.rows {
		if !r.live() {
			continue
		}
		seated[r.user] = true
		if e.live.buyers[r.user] != r.id {
			v.add("I2 one per user", "user %d has order %d; redis says %d", r.user, r.id, e.live.buyers[r.user])
		}
	}
	for user, order := range e.live.buyers {
		if !seated[user] {
			v.add("I2 one per user", "redis holds a place of user %d for order %d, which is no live order", user, order)
		}
	}
}

// liveRows returns how many units the ledger's orders hold.
func (e evidence) liveRows() (n int64) {
	for _, r := range e.rows {
		if r.live() {
			n++
		}
	}
	return n
}

// afterLoss returns the violations of those invariants that hold even when Redis lost what it had acknowledged.
func (e evidence) afterLoss() error {
	var v findings
	e.checkStock(&v)
	e.checkRedis(&v)
	for _, w := range e.violations() {
		if invariant, _, _ := strings.Cut(w, " "); invariant == "I1" || invariant == "I2" || invariant == "I4" || invariant == "I10" {
			v.list = append(v.list, w)
		}
	}
	if len(v.list) > 0 {
		return fmt.Errorf("%d violations:\n  %s", len(v.list), strings.Join(head(v.list), "\n  "))
	}
	return nil
}

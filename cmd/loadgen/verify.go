package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/checker"
)

// between two comparisons of everything, while answers and orders do not agree yet.
const settlePoll = 500 * time.Millisecond

// askers is how many connections ask for orders at a time.
const askers = 64

// verifier compares what the crowd was told with what the service says afterwards.
type verifier struct {
	plan   *plan
	shop   *shop
	record *record
	before voucher // as it was before the crowd came
	gaveUp bool    // Ctrl-C: buyers were stopped
	seen   seen
}

// seen is what the service said in the end.
type seen struct {
	Live   int64 `json:"live"`   // orders that hold a unit
	Stock  int64 `json:"stock"`  // units shown as left
	Owners int   `json:"owners"` // orders that were looked up by their owners
	Listed int   `json:"listed"` // orders in the list of all
}

// verify asks until everything agrees, or for as long as the plan allows, and returns what the checker found last.
func (v *verifier) verify(ctx context.Context) (checker.Report, error) {
	e, promised := v.heard()
	found := map[int64]checker.Order{}
	deadline := time.Now().Add(v.plan.settle)
	for {
		v.lookUp(ctx, promised, found)
		if err := v.look(ctx, &e, found); err != nil && (isRefused(err) || time.Now().After(deadline)) {
			return checker.Report{}, err
		} else if err == nil {
			r := checker.Check(e)
			if r.Total == 0 || time.Now().After(deadline) {
				return r, nil
			}
		}
		time.Sleep(settlePoll)
	}
}

// heard returns what the record says: the evidence without witnesses, and the buyer of each order that was named.
func (v *verifier) heard() (e checker.Evidence, promised map[int64]int) {
	e = checker.Evidence{
		Voucher: v.before.ID, Issued: v.before.Issued, Answers: v.record.answers(v.before.ID, &v.plan.tokens), GaveUp: true,
		Others: v.plan.voucher != 0 && *v.before.Stock != v.before.Issued,
	}
	promised = map[int64]int{}
	for a := range v.record.entries() {
		if a.order != 0 {
			promised[a.order] = int(a.buyer)
		}
	}
	return e, promised
}

// lookUp asks for each promised order as its owner, those left out that were found in a state that stays.
func (v *verifier) lookUp(ctx context.Context, promised map[int64]int, found map[int64]checker.Order) {
	var mu sync.Mutex
	v.each(slices.Collect(maps.Keys(promised)), func(s *shop, id int64) {
		mu.Lock()
		known, ok := found[id]
		mu.Unlock()
		if ok && known.Status != checker.Queued && known.Status != checker.StatusUnknown {
			return
		}
		o, err := s.order(ctx, v.plan.tokens.of(promised[id]), id)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			found[id] = o
		case isRefused(err): // there is no such order of his
		default: // nobody could tell
			found[id] = checker.Order{
				ID: id, User: v.plan.tokens.user(promised[id]), Voucher: v.before.ID, Status: checker.StatusUnknown, Reason: err.Error(),
			}
		}
	})
	v.seen.Owners = len(found)
}

// each calls do for each number, on several connections at a time.
func (v *verifier) each(numbers []int64, do func(*shop, int64)) {
	queue := make(chan int64)
	var wg sync.WaitGroup
	for range min(askers, len(numbers)) {
		wg.Go(func() {
			s, err := newShop(v.plan)
			if err != nil {
				return // the plan has tried the address
			}
			defer s.close()
			for n := range queue {
				do(s, n)
			}
		})
	}
	for _, n := range numbers {
		queue <- n
	}
	close(queue)
	wg.Wait()
}

// look reads the list of all orders and the voucher, and completes the evidence.
func (v *verifier) look(ctx context.Context, e *checker.Evidence, found map[int64]checker.Order) error {
	e.Views = []checker.View{{Name: "its owner", Orders: slices.Collect(maps.Values(found))}}
	all, err := v.all(ctx)
	if err != nil {
		return err
	}
	if all != nil {
		e.Views = append(e.Views, *all)
		v.seen.Listed = len(all.Orders)
	}
	now, err := v.shop.voucher(ctx, v.before.ID)
	if err != nil {
		return err
	}
	e.ShownStock = now.Stock
	e.Changed = now.Issued != v.before.Issued
	e.Issued = now.Issued
	if payWithin := time.Duration(now.PayWithinSeconds) * time.Second; payWithin > 0 && time.Since(v.record.began) > payWithin {
		e.Closes = true
	}
	v.seen.Stock, v.seen.Live = *now.Stock, e.Live()
	return nil
}

// all returns the list of all orders: the admin's, or without one what each buyer is shown of his own.
func (v *verifier) all(ctx context.Context) (*checker.View, error) {
	if v.shop.admin != "" {
		list, err := v.shop.orders(ctx, "/admin/order", v.shop.admin, v.before.ID)
		if err == nil || !isRefused(err) {
			return &checker.View{Name: "the admin's list", Orders: list, Complete: true}, err
		}
	}
	view := checker.View{Name: "the buyers' lists", Complete: true}
	buyers := map[int64]bool{}
	for a := range v.record.entries() {
		buyers[int64(a.buyer)] = true
	}
	var mu sync.Mutex
	var failed error
	v.each(slices.Collect(maps.Keys(buyers)), func(s *shop, buyer int64) {
		list, err := s.orders(ctx, "/order", v.plan.tokens.of(int(buyer)), v.before.ID)
		mu.Lock()
		defer mu.Unlock()
		view.Orders = append(view.Orders, list...)
		failed = errors.Join(failed, err)
	})
	if isRefused(failed) {
		return nil, nil //nolint:nilnil // a list that nobody may read is no error: the report says what it could not decide
	}
	return &view, failed
}

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"seckill/internal/checker"
)

// settlePoll is the time between two comparisons while answers and orders do not agree yet.
const settlePoll = 500 * time.Millisecond

// lookupConns is how many connections read orders concurrently.
const lookupConns = 64

// verifier compares the load's answers with the service's orders afterwards.
type verifier struct {
	plan     *plan
	service  *service
	record   *record
	before   voucher // the voucher before the load
	observed observed
}

// observed is the final state that the service showed.
type observed struct {
	Issued int64 `json:"issued"` // units of the sale
	Added  int64 `json:"added"`  // units added since the load began; below 0 if some were removed
	Live   int64 `json:"live"`   // orders that hold a unit
	Stock  int64 `json:"stock"`  // units shown as left
	Owners int   `json:"owners"` // orders that their owners looked up and found
	Listed int   `json:"listed"` // orders in the list of all
}

// verify repeats the comparison until everything agrees or the plan's time is over, and returns the last report.
func (v *verifier) verify(ctx context.Context) (checker.Report, error) {
	e, promised := v.fromRecord()
	found := map[int64]checker.Order{}
	deadline := time.Now().Add(v.plan.settle)
	for {
		v.readOwned(ctx, promised, found)
		if err := v.readShown(ctx, &e, found); err != nil && (isRefused(err) || time.Now().After(deadline)) {
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

// fromRecord returns the record's evidence, and the buyer of each order named by an answer.
func (v *verifier) fromRecord() (e checker.Evidence, promised map[int64]int) {
	e = checker.Evidence{
		Voucher: v.before.ID, Issued: v.before.Issued, Answers: v.record.answers(v.before.ID, &v.plan.tokens),
		GaveUp: true, Others: v.plan.voucher != 0 && *v.before.Stock != v.before.Issued,
	}
	promised = map[int64]int{}
	for a := range v.record.entries() {
		if a.order != 0 {
			promised[a.order] = int(a.buyer)
		}
	}
	return e, promised
}

// readOwned reads each promised order as its owner, except orders that were already read in a final state.
func (v *verifier) readOwned(ctx context.Context, promised map[int64]int, found map[int64]checker.Order) {
	var mu sync.Mutex
	v.each(slices.Collect(maps.Keys(promised)), func(s *service, id int64) {
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
		case isRefused(err): // the owner has no such order
		default: // its state is unknown
			found[id] = checker.Order{
				ID: id, User: v.plan.tokens.user(promised[id]), Voucher: v.before.ID,
				Status: checker.StatusUnknown, Reason: err.Error(),
			}
		}
	})
	v.observed.Owners = len(found)
}

// each calls do for each number, on several connections concurrently.
func (v *verifier) each(numbers []int64, do func(*service, int64)) {
	queue := make(chan int64)
	var wg sync.WaitGroup
	for range min(lookupConns, len(numbers)) {
		wg.Go(func() {
			s, err := newService(v.plan)
			if err != nil {
				return // cannot happen: the plan has checked the address
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

// readShown reads the list of all orders and the voucher, and completes the evidence.
func (v *verifier) readShown(ctx context.Context, e *checker.Evidence, found map[int64]checker.Order) error {
	e.Views = []checker.View{{Name: "its owner", Orders: slices.Collect(maps.Values(found))}}
	all, err := v.listOrders(ctx)
	if err != nil {
		return err
	}
	if all != nil {
		e.Views = append(e.Views, *all)
		v.observed.Listed = len(all.Orders)
	}
	now, err := v.service.voucher(ctx, v.before.ID)
	if err != nil {
		return err
	}
	e.ShownStock = now.Stock
	e.Changed = now.Issued != v.before.Issued
	e.Issued = now.Issued
	if payWithin := time.Duration(now.PayWithinSeconds) * time.Second; payWithin > 0 &&
		time.Since(v.record.began) > payWithin {
		e.Expires = true
	}
	v.observed.Issued, v.observed.Added = now.Issued, now.Issued-v.before.Issued
	v.observed.Stock, v.observed.Live = *now.Stock, e.Live()
	return nil
}

// listOrders returns the list of all orders: the admin's, or without an admin the buyers' own lists together.
func (v *verifier) listOrders(ctx context.Context) (*checker.View, error) {
	if path, token := v.completeList(); token() != "" {
		list, err := v.service.orders(ctx, path, token, v.before.ID)
		if err == nil || !isRefused(err) {
			return &checker.View{Name: "the admin's list", Orders: list, Complete: true}, err
		}
	}
	ofBuyer := "/order?limit=100&voucherId=" + strconv.FormatInt(v.before.ID, 10)
	view := checker.View{Name: "the buyers' lists", Complete: true}
	buyers := map[int64]bool{}
	for a := range v.record.entries() {
		buyers[int64(a.buyer)] = true
	}
	var mu sync.Mutex
	var failed error
	v.each(slices.Collect(maps.Keys(buyers)), func(s *service, buyer int64) {
		list, err := s.orders(ctx, ofBuyer, func() string { return v.plan.tokens.of(int(buyer)) }, v.before.ID)
		mu.Lock()
		defer mu.Unlock()
		view.Orders = append(view.Orders, list...)
		failed = errors.Join(failed, err)
	})
	if isRefused(failed) {
		// Being unable to read the list is not an error: the report says what it could not decide.
		//nolint:nilnil // see above
		return nil, nil
	}
	return &view, failed
}

// completeList returns the path that lists all orders of the voucher, and the token for it: for a rehearsal, one that
// may do nothing more.
func (v *verifier) completeList() (path string, token func() string) {
	id := strconv.FormatInt(v.before.ID, 10)
	if v.before.ShopID == rehearsalShop {
		return "/rehearsal/" + id + "/order?limit=100", func() string { return v.plan.tokens.crowd(v.before.ID) }
	}
	return "/admin/order?limit=100&voucherId=" + id, v.plan.tokens.admin
}

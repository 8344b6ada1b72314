package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// sale is a sale on several instances, and all answers to its buyers.
type sale struct {
	*stores
	voucher, units int64

	mu        sync.Mutex
	instances []*instance // the instances that buyers use
	answers   []checker.Answer
	accepted  map[string]int // by the id of the accepting instance
	changed   chan struct{}  // closed, and replaced, when accepted grows
	users     atomic.Int64   // the last user so far
}

// open creates a sale at an instance.
func (s *stores) open(at *instance, units int64) *sale {
	s.Helper()
	return &sale{
		stores: s, voucher: at.createSale(units), units: units, accepted: map[string]int{},
		changed: make(chan struct{}),
	}
}

// use makes buyers use these instances, and no others, from now on.
func (s *sale) use(instances ...*instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = instances
}

// pick returns the instance for a buyer's n-th attempt.
func (s *sale) pick(n int64) *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances[n%int64(len(s.instances))]
}

// record records an answer.
func (s *sale) record(a checker.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, a)
	if a.Action == checker.Buy && a.Outcome == checker.Accepted {
		s.accepted[a.Server]++
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// buyUntilAnswered repeats a purchase at one instance after the other until its outcome is known.
func (s *sale) buyUntilAnswered(ctx context.Context, user int64) checker.Answer {
	return s.untilAnswered(ctx, user, func(at *instance) checker.Answer { return at.buy(ctx, s.voucher, user) })
}

// cancel cancels a user's order in the same way.
func (s *sale) cancel(ctx context.Context, user, order int64) {
	s.untilAnswered(ctx, user+1, func(at *instance) checker.Answer { return at.cancel(ctx, s.voucher, user, order) })
}

func (s *sale) untilAnswered(ctx context.Context, first int64, ask func(*instance) checker.Answer) checker.Answer {
	pause := 5 * time.Millisecond
	for n := first; ; n++ {
		a := ask(s.pick(n))
		s.record(a)
		if a.Outcome != checker.Unknown && a.Outcome != checker.Later {
			return a
		}
		select {
		case <-ctx.Done():
			return a
		case <-time.After(pause):
		}
		pause = min(2*pause, 250*time.Millisecond)
	}
}

// load lets new users buy until stop is called, which waits until each of them is answered. Every twentieth user
// cancels their order.
func (s *sale) load(clients int, pause time.Duration) (stop func()) {
	end := make(chan struct{})
	var buyers sync.WaitGroup
	for range clients {
		buyers.Go(func() {
			for {
				user := s.users.Add(1)
				if a := s.buyUntilAnswered(s.Context(), user); a.Order != 0 && user%20 == 0 {
					s.cancel(s.Context(), user, a.Order)
				}
				select {
				case <-end:
					return
				case <-s.Context().Done():
					return
				case <-time.After(pause):
				}
			}
		})
	}
	s.Cleanup(buyers.Wait) // the test's context has ended by then
	return sync.OnceFunc(func() { close(end); buyers.Wait() })
}

// awaitAccepted waits until each of these instances has accepted n more purchases.
func (s *sale) awaitAccepted(n int, at ...*instance) {
	s.Helper()
	want := map[string]int{}
	s.mu.Lock()
	for _, i := range at {
		want[i.server.Name] = s.accepted[i.server.Name] + n
	}
	s.mu.Unlock()
	limit := time.After(box.Patience)
	for {
		s.mu.Lock()
		changed, missing := s.changed, []string(nil)
		for id, n := range want {
			if s.accepted[id] < n {
				missing = append(missing, fmt.Sprintf("%s has accepted %d of %d", id, s.accepted[id], n))
			}
		}
		s.mu.Unlock()
		if missing == nil {
			return
		}
		select {
		case <-changed:
		case <-limit:
			s.Fatalf("not accepted within %v: %v; answers %v", box.Patience, missing, s.counts())
		}
	}
}

// counts returns how many answers there are of each kind.
func (s *sale) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, a := range s.answers {
		kind := fmt.Sprint(a.Action, " ", a.Outcome)
		if a.Outcome != checker.Unknown { // the errors differ each time
			kind += " " + a.Code
		}
		n[kind]++
	}
	return n
}

// winners returns the users whose answers named an order that they did not cancel, with that order.
func (s *sale) winners() map[int64]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	won := map[int64]int64{}
	for _, a := range s.answers {
		switch {
		case a.Action == checker.Cancel:
			delete(won, a.User)
		case a.Order != 0:
			won[a.User] = a.Order
		}
	}
	return won
}

// askAgain lets up to n winners buy again at each of the instances. The answers must name their order.
func (s *sale) askAgain(n int, at ...*instance) {
	s.Helper()
	for user, order := range s.winners() {
		if n--; n < 0 {
			return
		}
		for _, i := range at {
			s.use(i)
			if a := s.buyUntilAnswered(s.Context(), user); a.Outcome != checker.Held || a.Order != order {
				s.Errorf("user %d has order %d and is answered at %s, %s: %s", user, order, i.server.Name, i.name, a)
			}
		}
	}
	s.use(at...)
}

// sellOut lets new users buy until one is refused because the sale is sold out.
func (s *sale) sellOut() {
	s.Helper()
	var left atomic.Bool
	left.Store(true)
	var buyers sync.WaitGroup
	for range 32 {
		buyers.Go(func() {
			for left.Load() && s.Context().Err() == nil {
				if a := s.buyUntilAnswered(s.Context(), s.users.Add(1)); a.Code == checker.CodeSoldOut {
					left.Store(false)
				}
			}
		})
	}
	buyers.Wait()
}

// awaitSettled waits until nothing is under way and record, ledger and Redis agree, and returns the evidence.
func (s *sale) awaitSettled() checker.Evidence {
	s.Helper()
	var e checker.Evidence
	box.Eventually(s, "the agreement of buyers, ledger and Redis", func() (err error) {
		if e, err = s.evidence(s.Context(), s.voucher, s.units); err != nil {
			return err
		}
		s.mu.Lock()
		e.Answers = slices.Values(slices.Clone(s.answers))
		s.mu.Unlock()
		if r := checker.Check(e); r.Total > 0 {
			return fmt.Errorf("%d contradictions, such as %v", r.Total, r.Findings[:min(3, len(r.Findings))])
		}
		return nil
	})
	return e
}

// expectSoldOut waits until everything is recorded, and expects an order for every unit.
func (s *sale) expectSoldOut() {
	s.Helper()
	if n := s.awaitSettled().Live(); n != s.units {
		s.Errorf("%d units sold, want all %d", n, s.units)
	}
}

// errNotYet is for conditions without a more specific error.
var errNotYet = errors.New("not yet")

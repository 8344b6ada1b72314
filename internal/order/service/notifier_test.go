package service

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// askedRows counts queries, and answers with the rows that a test sets.
type askedRows struct {
	ordertest.FakeOrders
	questions, ids int
}

func (r *askedRows) Recorded(ctx context.Context, ids []int64) (map[int64]order.Status, error) {
	r.Mu.Lock()
	r.questions++
	r.ids += len(ids)
	r.Mu.Unlock()
	return r.FakeOrders.Recorded(ctx, ids)
}

func (r *askedRows) asked() (questions, ids int) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	questions, ids, r.questions, r.ids = r.questions, r.ids, 0, 0
	return questions, ids
}

func newAskedRows() *askedRows {
	return &askedRows{FakeOrders: ordertest.FakeOrders{Rows: map[int64]order.Order{}}}
}

func TestSubscriptionGetsWhatIsNews(t *testing.T) {
	t.Parallel()
	notify := func(n *Notifier, s order.Status) { n.Notify(map[int64]order.Status{7: s}) }
	for name, tc := range map[string]struct {
		before func(n *Notifier) // between Subscribe and Wait
		known  order.Status
		want   order.Status
	}{
		"notified before it waits": {
			before: func(n *Notifier) { notify(n, order.Unpaid) }, known: order.Queued, want: order.Unpaid,
		},
		"the last of several counts": {
			before: func(n *Notifier) { notify(n, order.Unpaid); notify(n, order.Paid) }, known: order.Queued,
			want: order.Paid,
		},
		"the status it knows is no news": {
			before: func(n *Notifier) { notify(n, order.Unpaid) }, known: order.Unpaid, want: order.Cancelled,
		},
		"other orders' changes are no news": {
			before: func(n *Notifier) { n.Notify(map[int64]order.Status{8: order.Unpaid}) }, known: order.Queued,
			want: order.Cancelled,
		},
		"it learns of a cancelled order too": {
			before: func(n *Notifier) { notify(n, order.Cancelled) }, known: order.Unpaid, want: order.Cancelled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := NewNotifier(newAskedRows(), ordertest.Quiet())
			s := n.Subscribe(7)
			defer s.Cancel()
			tc.before(n)
			got := make(chan order.Status, 1)
			go func() {
				status, err := s.Wait(t.Context(), tc.known)
				if err != nil {
					t.Error(err)
				}
				got <- status
			}()
			if tc.want == order.Cancelled { // the update comes while it waits, or has come already
				ordertest.WaitUntil(t, func() bool {
					n.mu.Lock()
					defer n.mu.Unlock()
					return s.waiting || len(got) > 0
				})
				notify(n, order.Cancelled)
			}
			if status := <-got; status != tc.want {
				t.Errorf("got %s, want %s", status, tc.want)
			}
		})
	}
}

func TestSubscriptionIsUsedAgainAndAgain(t *testing.T) {
	t.Parallel()
	n := NewNotifier(newAskedRows(), ordertest.Quiet())
	s := n.Subscribe(7)
	known := order.Queued
	for _, next := range []order.Status{order.Unpaid, order.Cancelled, order.Paid, order.Refunding, order.Refunded} {
		n.Notify(map[int64]order.Status{7: next})
		got, err := s.Wait(t.Context(), known)
		if err != nil || got != next {
			t.Fatalf("%s, %v; want %s", got, err, next)
		}
		known = got
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, known); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	s.Cancel()
	s.Cancel()
	n.Notify(map[int64]order.Status{7: order.Unpaid}) // nobody waits
	n.Close()
	if _, err := n.Subscribe(7).Wait(t.Context(), known); !errors.Is(err, order.ErrStopping) {
		t.Errorf("error = %v, want ErrStopping", err)
	}
}

// After the latest update that status counts as known, so a return to an earlier status is news.
func TestSubscriptionGetsWhatComesBack(t *testing.T) {
	t.Parallel()
	n := NewNotifier(newAskedRows(), ordertest.Quiet())
	s := n.Subscribe(7)
	defer s.Cancel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(over, order.Paid); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	known := order.Paid
	for _, next := range []order.Status{order.Cancelled, order.Paid, order.Cancelled} {
		n.Notify(map[int64]order.Status{7: next})
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		got, err := s.Wait(soon, known)
		cancel()
		if err != nil || got != next {
			t.Fatalf("%s, %v; want %s", got, err, next)
		}
		known = got
	}
}

// However many callers wait, the ledger is queried twenty times a second for rows and once a second for other changes,
// with a thousand ids per query, and not at all while nobody waits.
func TestNotifierAsksForAllAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 2500
		rows := newAskedRows()
		n := NewNotifier(rows, ordertest.Quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		if n, _ := rows.asked(); n != 0 {
			t.Errorf("queried %d times while nobody waited", n)
		}
		waiting, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wait := func(known order.Status, from int64) {
			for i := range int64(each) {
				wg.Go(func() {
					s := n.Subscribe(from + i)
					defer s.Cancel()
					_, _ = s.Wait(waiting, known) // ends when all leave
				})
			}
		}
		n.Subscribe(1).Cancel()
		idle := n.Subscribe(2) // does not know yet whether its order was accepted
		wait(order.Unpaid, 10_000)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		rows.asked()
		time.Sleep(10*time.Second - time.Millisecond)
		if n, ids := rows.asked(); n > 33 || n < 27 || ids != n/3*each {
			t.Errorf("%d queries with %d ids in 10 s for %d watchers, want 30", n, ids, each)
		}
		wait(order.Queued, 20_000)
		time.Sleep(2 * time.Second)
		rows.asked()
		time.Sleep(10*time.Second - time.Millisecond)
		// 200 × 3 and 10 × 2 or 3: the rest of one thousand joins the next.
		if n, _ := rows.asked(); n > 640 || n < 600 {
			t.Errorf("%d queries in 10 s with as many callers waiting for rows in addition, want 625", n)
		}
		leave()
		wg.Wait()
		idle.Cancel()
		if len(n.unrecorded)+len(n.recorded) != 0 {
			t.Errorf("subscriptions are left: %d and %d", len(n.unrecorded), len(n.recorded))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// When another instance marks an order as paid, a watcher is notified within a second, even if the ledger was away.
func TestNotifierSeesWhatOthersDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := newAskedRows()
		n := NewNotifier(rows, ordertest.Quiet())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		rows.Put(order.Order{ID: 7, Status: order.Unpaid})
		s := n.Subscribe(7)
		got := make(chan order.Status)
		go func() {
			status, err := s.Wait(t.Context(), order.Unpaid)
			if err != nil {
				t.Error(err)
			}
			got <- status
		}()
		rows.Mu.Lock()
		rows.Away = true
		rows.Mu.Unlock()
		time.Sleep(10 * time.Second)
		rows.Mu.Lock()
		rows.Away = false
		rows.Mu.Unlock()
		rows.Put(order.Order{ID: 7, Status: order.Paid})
		start := time.Now()
		if status := <-got; status != order.Paid {
			t.Errorf("got %s", status)
		}
		if took := time.Since(start); took > retry.MaxBackOff+watchEvery {
			t.Errorf("notified after %v", took)
		}
		s.Cancel()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Whatever is done to subscriptions, the indexes have exactly those that were not cancelled, and no caller waits for
// news that is there.
func TestNotifierKeepsItsSubscriptions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := NewNotifier(newAskedRows(), ordertest.Quiet())
		type caller struct {
			sub   *Subscription
			known order.Status
		}
		var callers []caller
		last := map[int64]order.Status{}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.Int64Range(1, 3).Draw(t, "order")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				callers = append(callers, caller{sub: n.Subscribe(id), known: last[id]})
			case 1:
				last[id] = rapid.SampledFrom(
					[]order.Status{order.Unpaid, order.Paid, order.Cancelled}).Draw(t, "status")
				n.Notify(map[int64]order.Status{id: last[id]})
			default:
				if len(callers) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(callers)-1).Draw(t, "caller")
				c := &callers[i]
				if rapid.Bool().Draw(t, "leaves") {
					c.sub.Cancel()
					callers = append(callers[:i], callers[i+1:]...)
					continue
				}
				id := c.sub.orderID
				if last[id] == c.known { // Wait would block
					_, _ = c.sub.Wait(over, c.known)
					continue
				}
				status, err := c.sub.Wait(over, c.known)
				if err == nil {
					c.known = status
				}
				// The context has ended too, so select may choose it; but hardly twenty times.
				for n := 0; err != nil && n < 20; n++ {
					if status, err = c.sub.Wait(over, c.known); err == nil {
						c.known = status
					}
				}
				if err != nil && c.known != last[id] {
					t.Fatalf("order %d is %s; a caller who knows %s is not notified", id, last[id], c.known)
				}
			}
		}
		found := 0
		for _, b := range []index{n.unrecorded, n.recorded} {
			for id, s := range b {
				for before := (*Subscription)(nil); s != nil; before, s = s, s.next {
					if found++; s.orderID != id || s.previous != before {
						t.Fatalf("the subscriptions to order %d are not linked", id)
					}
				}
			}
		}
		if found != len(callers) {
			t.Fatalf("%d subscriptions for %d callers", found, len(callers))
		}
	})
}

// BenchmarkWaiting10000 measures what ten thousand waiting callers cost beyond their own goroutines, and how long it
// takes to notify them all.
func BenchmarkWaiting10000(b *testing.B) {
	const waiters = 10_000
	var bytes, woken float64
	for range b.N {
		n := NewNotifier(newAskedRows(), ordertest.Quiet())
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		subs := make([]*Subscription, waiters)
		for i := range subs {
			subs[i] = n.SubscribeWithTick(int64(i), watchTick)
			subs[i].begin(order.Unpaid)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		bytes += float64(after.HeapAlloc-before.HeapAlloc) / waiters
		outcomes := make(map[int64]order.Status, waiters)
		for i := range subs {
			outcomes[int64(i)] = order.Paid
		}
		var wg, ready sync.WaitGroup
		for _, s := range subs {
			ready.Add(1)
			wg.Go(func() {
				defer s.Cancel()
				ready.Done()
				if status, err := s.Wait(b.Context(), order.Unpaid); err != nil || status != order.Paid {
					b.Errorf("%s, %v", status, err)
				}
			})
		}
		ready.Wait()
		for len(n.ids(n.recorded)) < waiters {
			runtime.Gosched()
		}
		start := time.Now()
		n.Notify(outcomes)
		wg.Wait()
		woken += float64(time.Since(start).Microseconds()) / 1000
	}
	b.ReportMetric(bytes/float64(b.N), "B/subscription")
	b.ReportMetric(woken/float64(b.N), "ms/10000-woken")
	b.ReportMetric(0, "ns/op") // says nothing here
}

// A caller is awaited from the moment they subscribe to an order without a row until they cancel or know of its row.
func TestNotifierTellsThatSomebodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := NewNotifier(newAskedRows(), ordertest.Quiet())
		awaited := func(within time.Duration) bool {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			n.Awaited(ctx)
			return ctx.Err() == nil
		}
		if awaited(time.Second) {
			t.Error("a caller is awaited before anybody has subscribed")
		}
		subscribed := make(chan *Subscription, 1)
		time.AfterFunc(time.Second, func() { subscribed <- n.Subscribe(7) })
		began := time.Now()
		for range 2 { // the second time at once
			if !awaited(time.Minute) || time.Since(began) != time.Second {
				t.Errorf("Awaited returned after %s, want a second", time.Since(began))
			}
		}
		s := <-subscribed
		n.Notify(map[int64]order.Status{7: order.Unpaid})
		if status, err := s.Wait(t.Context(), order.Queued); status != order.Unpaid || err != nil {
			t.Fatal(status, err)
		}
		go func() { _, _ = s.Wait(t.Context(), order.Unpaid) }()
		synctest.Wait()
		if awaited(time.Second) {
			t.Error("a caller is awaited who knows of the row")
		}
		s.Cancel()
		n.Subscribe(8).Cancel()
		if awaited(time.Second) {
			t.Error("a caller is awaited who has left")
		}
		n.Close()
	})
}

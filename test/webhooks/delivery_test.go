package webhooks

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/test/webhooks/receiver"
)

const soon = time.Minute // generous, for a busy machine

// Three instances share the work: every event arrives, and each order's events arrive in order.
func TestEverythingComesInOrder(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		to := receiver.New(t)
		e := r.endpoint(to)
		for i := range 3 {
			r.instance(name(i))
		}
		for range 5 {
			r.cancels(r.sells(40))
		}
		to.Await(r.events)
		to.Right()
		if states := r.finished(e); states[dispatch.Delivered] != r.events {
			t.Errorf("states %v, want %d delivered", states, r.events)
		}
	})
}

// A receiver that is down for an hour, by an injected clock, gets everything afterwards, in order; nothing becomes a
// dead letter.
func TestReceiverIsDownForAnHour(t *testing.T) {
	t.Parallel()
	r, to := newSQLiteRig(t), receiver.New(t)
	e := r.endpoint(to)
	r.instance("one")
	r.cancels(r.sells(20))
	to.Await(40)
	to.Stop()
	for range 30 {
		before := r.seen.failed.Load()
		r.cancels(r.sells(2))
		r.leaps(2 * time.Minute)
		to.Until(soon, func() bool { return r.seen.failed.Load() > before })
	}
	if failed := r.seen.failed.Load(); failed > 300 {
		t.Errorf("%d attempts within an hour: the breaker does not hold them back", failed)
	}
	if at, err := r.Endpoint(t.Context(), e.ID); err != nil || !at.Health.Broken() || at.LastFailure.Code == "" {
		t.Errorf("after an hour: %+v, %v", at, err)
	}
	to.Start()
	r.leaps(2 * time.Minute)
	to.Await(r.events)
	to.Right()
	if states := r.finished(e); states[dispatch.Delivered] != r.events {
		t.Errorf("states %v, want %d delivered", states, r.events)
	}
	if n := r.seen.dead.Load(); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// A receiver that answers 500 to the first delivery of every third event, and is killed in between, gets everything, in
// order.
func TestReceiverFailsOften(t *testing.T) {
	t.Parallel()
	r, to := newSQLiteRig(t), receiver.New(t)
	e := r.endpoint(to)
	asked := make(map[string]bool)
	to.Answers(func(id string) int { // called for one request at a time
		first := !asked[id]
		if asked[id] = true; first && len(asked)%3 == 0 { // only once per event, because nine failures end it
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	stop := r.instance("one")
	r.instance("two")
	for i := range 10 {
		r.cancels(r.sells(10))
		switch i {
		case 3:
			to.Stop()
		case 4:
			to.Start()
		case 6:
			stop()
		}
	}
	var states map[dispatch.State]int
	for deadline := time.Now().Add(5 * soon); states[dispatch.Delivered] != r.events && time.Now().Before(deadline); {
		_, _, before := to.Counts()
		r.leaps(3 * time.Minute) // longer than any pause after so few failures
		to.Until(time.Second, func() bool { _, _, requests := to.Counts(); return requests > before })
		states = r.states(e)
	}
	to.Await(r.events)
	to.Right()
	if states[dispatch.Delivered] != r.events {
		t.Errorf("states %v, want %d delivered", states, r.events)
	}
}

// An event that is never accepted becomes a dead letter, and later events go on, even of its order. A replay sends it
// again, with the later events of its order.
func TestDeadLetterAndReplay(t *testing.T) {
	t.Parallel()
	r, to := newSQLiteRig(t), receiver.New(t)
	e := r.endpoint(to)
	cs := r.sells(3)
	poison := dispatch.EventID{Subject: order.SubjectOfOrder(cs[1].OrderID), Number: 1}
	to.Answers(func(id string) int {
		if id == poison.String() {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	r.cancels(cs)
	r.instance("one")
	failed := int64(0)
	for deadline := time.Now().Add(5 * soon); r.seen.dead.Load() == 0 && time.Now().Before(deadline); {
		to.Until(soon, func() bool { return r.seen.failed.Load() > failed || r.seen.dead.Load() > 0 })
		failed = r.seen.failed.Load() // before the clock leaps, so that later failures are new ones
		r.leaps(5 * time.Hour)
	}
	to.Await(5)
	states := r.finished(e)
	if states[dispatch.Dead] != 1 || states[dispatch.Delivered] != 5 {
		t.Fatalf("states %v, want one dead letter", states)
	}
	letters, _, err := r.DeadLetters(t.Context(), e.ID, 1<<60, 10)
	if err != nil || len(letters) != 1 || letters[0].Event.ID() != poison.String() || letters[0].Attempts != 9 ||
		letters[0].Failure.Status != 400 {
		t.Fatalf("dead letters %+v, %v", letters, err)
	}
	to.Answers(func(string) int { return http.StatusOK })
	_, before, _ := to.Counts()
	if err := r.ReplayEvent(t.Context(), e.ID, poison, by); err != nil {
		t.Fatal(err)
	}
	to.Await(6)
	to.Until(soon, func() bool { _, repeats, _ := to.Counts(); return repeats > before })
	if _, repeats, _ := to.Counts(); repeats != before+1 {
		t.Errorf("%d repeats, want that of the order's second event", repeats-before)
	}
	if states := r.finished(e); states[dispatch.Delivered] != 6 {
		t.Errorf("states %v", states)
	}
}

// Events that are never accepted, more in a row than open the breaker, become dead letters without holding up others.
func TestPoisonHoldsNothingUp(t *testing.T) {
	t.Parallel()
	r, to := newSQLiteRig(t), receiver.New(t)
	e := r.endpoint(to)
	poison := make(map[string]bool)
	for _, c := range r.sells(12) {
		poison[dispatch.EventID{Subject: order.SubjectOfOrder(c.OrderID), Number: 1}.String()] = true
	}
	to.Answers(func(id string) int {
		if poison[id] {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	r.instance("one")
	broken := func() bool {
		at, err := r.Endpoint(t.Context(), e.ID)
		return err == nil && at.Health.Broken()
	}
	to.Until(soon, broken)
	good := 0
	for deadline := time.Now().Add(5 * soon); r.seen.dead.Load() < 12 && time.Now().Before(deadline); {
		r.sells(1)
		good++
		for taken := 0; taken < good && time.Now().Before(deadline); taken, _, _ = to.Counts() {
			r.leaps(2 * time.Minute) // longer than any pause of the breaker
			to.Until(time.Second, func() bool { taken, _, _ := to.Counts(); return taken >= good })
		}
		to.Until(time.Second, broken)
		r.leaps(5 * time.Hour)
	}
	to.Await(good)
	to.Right()
	if states := r.finished(e); states[dispatch.Dead] != 12 || states[dispatch.Delivered] != good {
		t.Errorf("states %v, want 12 dead letters and %d delivered", states, good)
	}
	if at, err := r.Endpoint(t.Context(), e.ID); err != nil || at.Disabled {
		t.Errorf("the endpoint is %+v, %v", at, err)
	}
}

// A replay of a time range sends all of its events again, with the same ids, in addition to new ones.
func TestReplayOfATime(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		to := receiver.New(t)
		e := r.endpoint(to)
		r.instance("one")
		r.cancels(r.sells(30))
		to.Await(60)
		r.finished(e)
		again, err := r.ReplayTime(t.Context(), e.ID, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), by)
		if err != nil || again != 60 {
			t.Fatalf("ReplayTime = %d, %v", again, err)
		}
		r.sells(5)
		to.Until(soon, func() bool { _, repeats, _ := to.Counts(); return repeats == 60 })
		to.Await(65)
		if _, repeats, _ := to.Counts(); repeats != 60 {
			t.Errorf("%d repeats, want 60", repeats)
		}
		to.Right()
		if _, err := r.ReplayTime(t.Context(), e.ID, time.Now().Add(time.Hour),
			time.Now().Add(2*time.Hour), by); err == nil {
			t.Error("a time without events is replayed")
		}
	})
}

// A 410 disables the endpoint. Once enabled, it continues where it stopped.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		to := receiver.New(t)
		e := r.endpoint(to)
		to.Answers(func(string) int { return http.StatusGone })
		r.instance("one")
		r.cancels(r.sells(5))
		to.Until(soon, func() bool { return r.seen.disabled.Load() > 0 })
		got, err := r.Endpoint(t.Context(), e.ID)
		if err != nil || !got.Disabled || got.DisabledWhy != dispatch.Gone {
			t.Fatalf("the endpoint is %+v, %v", got, err)
		}
		to.Answers(func(string) int { return http.StatusOK })
		admin := &dispatch.Admin{Endpoints: r.webhooks, Log: r.webhooks, Now: time.Now}
		if _, err := admin.Change(t.Context(), e.ID, func(t *dispatch.Terms) { t.Disabled = false }, by); err != nil {
			t.Fatal(err)
		}
		to.Await(10)
		to.Right()
	})
}

// After a rotation both secrets sign for a day; after an immediate rotation, only the new one.
func TestRotation(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		to := receiver.New(t)
		e := r.endpoint(to)
		r.instance("one")
		told := func() {
			r.sells(2)
			to.Await(r.events)
			r.finished(e) // nothing is left to be sent with the next secrets
		}
		told()
		admin := &dispatch.Admin{Endpoints: r.webhooks, Log: r.webhooks, Now: time.Now}
		rotate := func(atOnce bool) dispatch.Secret {
			rotated, err := admin.Rotate(t.Context(), e.ID, atOnce, by)
			if err != nil {
				t.Fatal(err)
			}
			return rotated.Secret
		}
		second := rotate(false)
		to.Expect(second, e.Secret)
		told()
		if _, err := admin.Rotate(t.Context(), e.ID, false, by); !errors.Is(err, dispatch.ErrRotating) {
			t.Errorf("a rotation while two secrets sign: %v, want ErrRotating", err)
		}
		third := rotate(true)
		to.Expect(third)
		told()
		fourth := rotate(false)
		to.Expect(fourth, third)
		told()
		if r.raw == nil { // MySQL uses its own clock
			r.leaps(dispatch.OldSecretFor)
			to.Expect(fourth)
			told()
		}
		to.Right()
	})
}

// Event types that an endpoint does not want are skipped.
func TestOnlyChosenTypes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		to := receiver.New(t)
		e := r.endpoint(to, "order.unpaid")
		r.instance("one")
		r.cancels(r.sells(10))
		to.Await(10)
		r.finished(e)
		to.Await(10)
		to.Right()
	})
}

// A slow endpoint does not delay the events of another one.
func TestSlowEndpointHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	r, slow, fast := newMySQLRig(t), receiver.New(t), receiver.New(t)
	slow.Answers(func(string) int { return 0 })
	r.endpoint(slow)
	r.endpoint(fast)
	r.instance("one")
	r.cancels(r.sells(50))
	fast.Await(100)
	fast.Right()
}

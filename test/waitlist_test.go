package test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// place is a place on a waiting list as its user sees it.
type place struct {
	State   string `json:"state"`
	Ahead   int64  `json:"ahead"`
	OrderID string `json:"orderId"`
}

// waitlist is a sold-out sale with a waiting list.
type waitlist struct {
	*box.Site

	buyers *box.Buyers
	units  int64
}

// openWaitlist sells a sale out to users 1 to units.
func openWaitlist(t *testing.T, s *box.Site, units, windowSeconds int64) waitlist {
	t.Helper()
	draft := box.SeckillDraft(1, units, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["waitlistWindowSeconds"] = windowSeconds
	r := s.Client.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
	id := box.Decode[box.Voucher](t, r).ID
	s.AwaitState(t, id, "on_sale")
	w := waitlist{Site: s, buyers: s.Buyers(id), units: units}
	w.buyers.BuyAll(t.Context(), 8, box.Users(1, int(units)))
	s.Check(t, w.buyers, units)
	return w
}

// ask sends a request about the list at one of the servers.
func (w waitlist) ask(ctx context.Context, method string, user int64, step string) (box.Reply, error) {
	srv := w.Servers[int(user)%len(w.Servers)]
	path := "/voucher/" + strconv.FormatInt(w.buyers.Voucher, 10) + "/waitlist" + step
	return w.Client.Do(ctx, box.Request{Method: method, URL: srv.URL(path), Token: box.BuyerToken(user)})
}

// must is ask for a request that must succeed.
func (w waitlist) must(t *testing.T, want int, method string, user int64, step string) place {
	t.Helper()
	r, err := w.ask(t.Context(), method, user, step)
	if err != nil || r.StatusCode != want {
		t.Fatalf("user %d, %s %s: %d %s, %v; want %d", user, method, step, r.StatusCode, r.Body, err, want)
	}
	if want >= http.StatusBadRequest {
		return place{}
	}
	return box.Decode[place](t, r)
}

// cancel cancels a winner's order.
func (w waitlist) cancel(t *testing.T, user int64) {
	t.Helper()
	id := strconv.FormatInt(w.buyers.Record.Winners()[user], 10)
	w.Client.Must(t, http.StatusOK,
		box.Request{Method: http.MethodPost, URL: w.URL("/order/" + id + "/cancel"), Token: box.BuyerToken(user)})
}

// await waits until the user's place is in the state.
func (w waitlist) await(t *testing.T, user int64, state string) (p place) {
	t.Helper()
	box.Eventually(t, fmt.Sprintf("user %d: %s", user, state), func() error {
		if p = w.must(t, http.StatusOK, http.MethodGet, user, ""); p.State != state {
			return fmt.Errorf("it is %s", p.State)
		}
		return nil
	})
	return p
}

// check waits until ledger, Redis and answers agree. Orders of accepted invitations are not in the buyers' record.
func (w waitlist) check(t *testing.T) checker.Evidence {
	t.Helper()
	var e checker.Evidence
	box.Eventually(t, "the agreement of record, ledger and Redis", func() (err error) {
		if e, err = w.Evidence(t.Context(), w.buyers, w.units); err != nil {
			return err
		}
		e.Others = true
		return box.Contradictions(checker.Check(e))
	})
	return e
}

// TestWaitlist checks that a returned unit goes to the user who waits longest, whatever they answer to the invitation.
func TestWaitlist(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			w := openWaitlist(t, kind.Open(t), 3, 600)
			w.joined(t, "", 11)
			w.must(t, http.StatusConflict, http.MethodPost, 1, "") // user 1 has bought already
			w.must(t, http.StatusConflict, http.MethodPost, 11, "/accept")
			if p := w.must(t, http.StatusCreated, http.MethodPost, 12, ""); p.State != "waiting" || p.Ahead != 1 {
				t.Errorf("the second who waits: %+v", p)
			}
			w.must(t, http.StatusCreated, http.MethodPost, 13, "")
			w.cancel(t, 1)
			w.await(t, 11, "invited")
			if a := w.buyers.Buy(t.Context(), w.Servers[0], 99); a.Code != checker.CodeSoldOut {
				t.Errorf("a stranger gets %+v of a kept unit", a)
			}
			w.check(t)
			var first place
			r, err := w.ask(t.Context(), http.MethodPost, 11, "/accept")
			if err != nil || r.StatusCode != http.StatusCreated && r.StatusCode != http.StatusAccepted {
				t.Fatalf("accepted: %d %s, %v", r.StatusCode, r.Body, err)
			}
			first = box.Decode[place](t, r)
			if got := w.await(t, 11, "bought"); got.OrderID != first.OrderID {
				t.Errorf("the order was %s, and is %s", first.OrderID, got.OrderID)
			}
			id, _ := strconv.ParseInt(first.OrderID, 10, 64)
			if o := w.Order(t, 11, id); o.Status != "unpaid" {
				t.Errorf("the order is %+v", o)
			}
			if a := w.buyers.Buy(t.Context(), w.Servers[0], 11); a.Outcome != checker.Held || a.Order != id {
				t.Errorf("who has accepted presses the button, and gets %+v", a)
			}
			w.must(t, http.StatusCreated, http.MethodPost, 11, "/accept") // as if the answer had been lost
			w.cancel(t, 2)
			w.await(t, 12, "invited")
			w.must(t, http.StatusOK, http.MethodPost, 12, "/leave")
			w.await(t, 13, "invited")
			if e := w.check(t); e.Kept != 1 || e.Live() != 2 {
				t.Errorf("%d units are kept and %d sold; want 1 and 2", e.Kept, e.Live())
			}
		})
	}
}

// joined has the users join, the first as soon as the sale has sold out.
func (w waitlist) joined(t *testing.T, query string, users ...int64) {
	t.Helper()
	for _, user := range users {
		box.Eventually(t, "joining", func() error {
			r, err := w.ask(t.Context(), http.MethodPost, user, query)
			if err != nil || r.StatusCode != http.StatusCreated {
				return fmt.Errorf("%d %s: %w", r.StatusCode, r.Body, err)
			}
			return nil
		})
	}
}

// TestWindows: a missed window does not cost the place, the second does; either way the next in the list is invited,
// and the unit goes on sale once nobody waits. With a standing yes there is no window.
func TestWindows(t *testing.T) {
	t.Parallel()
	w := openWaitlist(t, box.RealSite(t, 2), 2, 30)
	w.joined(t, "", 11, 12)
	w.joined(t, "?standing=true", 13)
	w.cancel(t, 1)
	w.await(t, 11, "invited")
	w.passes(t)
	w.await(t, 11, "waiting")
	w.await(t, 12, "invited")
	w.must(t, http.StatusOK, http.MethodPost, 12, "/leave")
	if p := w.await(t, 13, "bought"); p.OrderID == "" {
		t.Errorf("a standing yes has become %+v", p)
	}
	w.cancel(t, 2)
	w.await(t, 11, "invited")
	w.passes(t)
	w.await(t, 11, "missed")
	w.AwaitState(t, w.buyers.Voucher, "on_sale")
	box.Eventually(t, "the unit being sold", func() error { // what comes back to a sold-out sale waits for a second
		ctx, cancel := context.WithTimeout(t.Context(), box.Patience)
		defer cancel()
		if a := w.buyers.BuyUntilAnswered(ctx, 77); a.Outcome != checker.Accepted {
			return fmt.Errorf("the unit is on sale, and a buyer gets %s", a)
		}
		return nil
	})
	w.check(t)
}

// passes has the windows of all invitations pass.
func (w waitlist) passes(t *testing.T) {
	t.Helper()
	_, err := w.Ledger.DB.ExecContext(t.Context(), "UPDATE tb_place SET deadline = invite_time WHERE state = 2")
	if err != nil {
		t.Fatal(err)
	}
}

// TestWaitlistRedisEmptied empties Redis while invitations stand and are accepted: a rebuild sells none of them, and
// each accepted one becomes its order.
func TestWaitlistRedisEmptied(t *testing.T) {
	t.Parallel()
	const units = 20
	own := testkit.StartRedis(t)
	w := openWaitlist(t, box.SiteOn(t, 2, own.Addr, "", testkit.MySQL(t)), units, 600)
	w.joined(t, "", 101)
	for user := int64(102); user <= 100+units; user++ {
		w.must(t, http.StatusCreated, http.MethodPost, user, "")
	}
	for user := int64(1); user <= units/2; user++ {
		w.cancel(t, user)
	}
	var accepts sync.WaitGroup
	for user := int64(101); user <= 105; user++ {
		accepts.Go(func() {
			box.Eventually(t, "an accept", func() error {
				r, err := w.ask(t.Context(), http.MethodPost, user, "/accept")
				if err != nil || r.StatusCode >= http.StatusBadRequest {
					return fmt.Errorf("%d %s: %w", r.StatusCode, r.Body, err)
				}
				return nil
			})
		})
	}
	if err := w.Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	accepts.Wait()
	for user := int64(101); user <= 105; user++ {
		w.await(t, user, "bought")
	}
	w.buyers.BuyAll(t.Context(), 8, box.Users(200, 30)) // strangers: none may get a kept unit
	if e := w.check(t); e.Kept != 5 || e.Live() != 15 {
		t.Errorf("%d units are kept and %d sold, want 5 and 15", e.Kept, e.Live())
	}
}

package life

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/feature/waitlist"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
	"seckill/lab/linear"
)

// TestListIsLinearizable has a few users buy, cancel, join, accept, leave and miss invitations at once, of a sale with
// a waiting list: what they are answered, and the ledger in the end, could come from a shop that serves one of them at
// a time.
func TestListIsLinearizable(t *testing.T) {
	t.Parallel()
	const histories, units, clients, usersEach, stepsEach, missed = 8, 2, 3, 3, 9, 6
	e := newEnv(t)
	p := newProcess(e.stores, func(gate.Batch) {})
	e.dead = append(e.dead, p)
	working, stop := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer stop()
	for _, run := range []func(context.Context) error{p.newRecorder().Run, p.outbox.Run} {
		jobs.Go(func() { _ = run(working) }) // its error is that it was stopped
	}
	bought, all, longest := 0, 0, time.Duration(0)
	for seed := range uint64(histories) {
		h := &listHistory{env: e, process: p, voucher: newListedSale(t, p, units)}
		var acting sync.WaitGroup
		for c := range clients {
			acting.Go(func() {
				h.client(t, rand.New(rand.NewPCG(seed, uint64(c))), int64(c*usersEach+1), usersEach, stepsEach)
			})
		}
		acting.Go(func() {
			r := rand.New(rand.NewPCG(seed, clients))
			for range missed {
				h.miss(t, int64(r.IntN(clients*usersEach)+1))
			}
		})
		acting.Wait()
		end := h.quiesce(t)
		began := time.Now()
		got := linear.CheckList(units, h.steps, end, quiesceTimeout)
		longest = max(longest, time.Since(began))
		if got != linear.Yes {
			for _, s := range h.steps {
				t.Logf("%s +%v %+v", s.Sent.Format("05.000000"), s.Received.Sub(s.Sent), s)
			}
			t.Fatalf("history %d is %s; in the end %+v", seed, got, end)
		}
		for _, s := range h.steps {
			if all++; s.Verb == linear.Accepts && s.Outcome == checker.Accepted {
				bought++
			}
		}
	}
	t.Logf("%d histories, %d steps, %d places were bought; the longest search took %v", histories, all, bought, longest)
	if bought == 0 {
		t.Error("no place was bought")
	}
}

func newListedSale(t *testing.T, p *process, units int64) int64 {
	t.Helper()
	now := time.Now()
	created, err := p.vouchers.CreateSeckill(t.Context(), admin,
		voucher.Draft{ShopID: 1, Title: "100 for 10", PayValue: 10_00, ActualValue: 100_00, PerUser: 1},
		voucher.SaleDraft{
			Stock: units, InviteWindow: inviteWindow, Begin: now.Add(-time.Minute), End: now.Add(time.Hour),
		})
	must(t, err)
	return created.ID
}

// listHistory is one sale, and what its users were answered.
type listHistory struct {
	*env

	process *process
	voucher int64

	mu    sync.Mutex
	steps []linear.Step
}

// do carries a step out and notes what came of it.
func (h *listHistory) do(verb linear.Verb, user int64, f func(s *linear.Step) error) linear.Step {
	s := linear.Step{Verb: verb, User: user, Outcome: checker.Accepted, Sent: time.Now()}
	err := f(&s)
	s.Received = time.Now()
	held, is := errors.AsType[*gate.AlreadyBoughtError](err)
	switch {
	case err == nil:
	case is:
		s.Outcome, s.Order = checker.Held, held.OrderID
	case errors.Is(err, gate.ErrSoldOut), errors.Is(err, waitlist.ErrOnSale), errors.Is(err, waitlist.ErrNotInvited):
		s.Outcome = checker.Refused
	case errors.Is(err, waitlist.ErrNoPlace) && verb == linear.Accepts:
		s.Outcome = checker.Refused
	case errors.Is(err, waitlist.ErrNoPlace):
	case errors.Is(err, waitlist.ErrAccepted):
		s.Place = waitlist.Accepted.String()
	default:
		s.Outcome = checker.Unknown
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, s)
	return s
}

// client has its users do what they may, one after the other. Who has cancelled comes no more; who has joined buys no
// more.
func (h *listHistory) client(t *testing.T, r *rand.Rand, first int64, users, steps int) {
	state := make([]string, users)
	for range steps * users {
		i := r.IntN(users)
		user := first + int64(i)
		switch state[i] {
		case "":
			state[i] = h.buy(t, user)
		case "sold out":
			state[i] = h.join(t, user)
		case "has an order":
			if r.IntN(2) == 0 {
				h.buy(t, user)
			} else {
				state[i] = h.cancel(t, user)
			}
		case "waits":
			switch r.IntN(6) {
			case 0:
				h.leave(t, user)
			case 1:
				h.join(t, user)
			case 2:
				h.look(t, user)
			default:
				state[i] = h.accept(t, user)
			}
		}
	}
}

func (h *listHistory) sale(t *testing.T) voucher.Voucher {
	v, err := h.process.catalog.Find(t.Context(), h.voucher)
	if err != nil {
		t.Errorf("the catalog: %v", err)
	}
	return v
}

func (h *listHistory) buy(t *testing.T, user int64) string {
	s := h.do(linear.Buys, user, func(s *linear.Step) error {
		o, err := h.process.buy(t.Context(), user, h.voucher, order.OneUnit, 0)
		s.Order = o.ID
		return err
	})
	switch s.Outcome {
	case checker.Accepted, checker.Held:
		return "has an order"
	case checker.Refused:
		return "sold out"
	default:
		return "gone"
	}
}

func (h *listHistory) cancel(t *testing.T, user int64) string {
	id := h.orderOf(user)
	h.do(linear.Cancels, user, func(*linear.Step) error {
		_, err := h.process.orders.Cancel(t.Context(), user, id)
		return errors.Join(err, h.process.turns.Take(t.Context(), h.voucher))
	})
	return "gone"
}

// orderOf returns the order that the user was answered last.
func (h *listHistory) orderOf(user int64) (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.steps {
		if s.User == user && s.Order != 0 {
			id = s.Order
		}
	}
	return id
}

func (h *listHistory) join(t *testing.T, user int64) string {
	v := h.sale(t)
	s := h.do(linear.Joins, user, func(s *linear.Step) error {
		p, err := h.process.waitlists.Join(t.Context(), user, v, nil)
		s.Place, s.Position = p.State.String(), p.Position
		if err == nil { // a unit may be kept for nobody, as somebody else is invited
			err = h.process.turns.Take(t.Context(), h.voucher)
		}
		return err
	})
	switch s.Outcome {
	case checker.Refused:
		return ""
	case checker.Held:
		return "has an order"
	default:
		return "waits"
	}
}

func (h *listHistory) accept(t *testing.T, user int64) string {
	v := h.sale(t)
	s := h.do(linear.Accepts, user, func(s *linear.Step) error {
		p, err := h.process.waitlists.Accept(t.Context(), user, v)
		for end := time.Now().Add(quiesceTimeout); err == nil && p.State == waitlist.Accepted &&
			time.Now().Before(end); {
			time.Sleep(time.Millisecond) // any outbox decides it
			_ = h.process.turns.Take(t.Context(), h.voucher)
			p, err = h.process.waitlists.Place(t.Context(), user, h.voucher)
		}
		s.Order, s.Place = p.OrderID, p.State.String()
		return err
	})
	if s.Outcome == checker.Accepted {
		return "has an order"
	}
	return "waits"
}

func (h *listHistory) leave(t *testing.T, user int64) {
	h.do(linear.Leaves, user, func(s *linear.Step) error {
		p, err := h.process.waitlists.Leave(t.Context(), user, h.voucher)
		if err == nil {
			s.Place = p.State.String()
			err = h.process.turns.Take(t.Context(), h.voucher)
		}
		return err
	})
}

func (h *listHistory) look(t *testing.T, user int64) {
	h.do(linear.Looks, user, func(s *linear.Step) error {
		p, err := h.process.waitlists.Place(t.Context(), user, h.voucher)
		if err == nil {
			s.Place = p.State.String()
		}
		return err
	})
}

// miss lets the window of the user's invitation pass, if they have one.
func (h *listHistory) miss(t *testing.T, user int64) {
	h.do(linear.Misses, user, func(*linear.Step) error {
		_, err := h.db.ExecContext(t.Context(), "UPDATE tb_place SET deadline = '2020-01-01' WHERE voucher_id = ? "+
			"AND user_id = ? AND state = 2", h.voucher, user)
		if err != nil {
			return err
		}
		return h.process.turns.Take(t.Context(), h.voucher)
	})
}

// quiesce waits until nothing is under way, and reads the end.
func (h *listHistory) quiesce(t *testing.T) linear.End {
	t.Helper()
	number := func(query string) (n int64) {
		must(t, h.db.QueryRowContext(t.Context(), query, h.voucher).Scan(&n))
		return n
	}
	for end := time.Now().Add(quiesceTimeout); ; time.Sleep(2 * time.Millisecond) { // the stores have no signal for it
		waiting, err := h.rdb.XLen(t.Context(), h.prefix+"{p0}:orders").Result()
		must(t, err)
		if waiting == 0 &&
			number("SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1 AND voucher_id = ?") == 0 &&
			number("SELECT COUNT(*) FROM tb_place WHERE state = 3 AND voucher_id = ?") == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("not quiescent")
		}
	}
	end := linear.End{
		Live: map[int64]int64{}, Places: map[int64]string{},
		Stock: number("SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ?"),
	}
	h.eachRow(t, "SELECT user_id, id FROM tb_voucher_order WHERE voucher_id = ? AND live = 1",
		func(user, id int64) { end.Live[user] = id })
	h.eachRow(t, "SELECT user_id, state FROM tb_place WHERE voucher_id = ? ORDER BY position", func(user, state int64) {
		end.Places[user] = waitlist.State(state).String()
	})
	return end
}

func (h *listHistory) eachRow(t *testing.T, query string, read func(a, b int64)) {
	t.Helper()
	rows, err := h.db.QueryContext(t.Context(), query, h.voucher)
	must(t, err)
	defer func() { _ = rows.Close() }() // read to its end below
	for rows.Next() {
		var a, b sql.NullInt64
		must(t, rows.Scan(&a, &b))
		read(a.Int64, b.Int64)
	}
	must(t, rows.Err())
}

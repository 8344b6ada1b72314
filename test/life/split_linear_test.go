package life

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/internal/checker/linear"
	"seckill/internal/order"
	"seckill/internal/order/split"
)

// TestSplitSaleIsLinearizable has a few users, most of them of one share, buy, ask again and cancel at once, while a share is rebuilt and a
// process dies: what they are answered could come from a shop that serves one of them at a time, as if the sale were not split; and the
// stores agree with it in the end.
func TestSplitSaleIsLinearizable(t *testing.T) {
	t.Parallel()
	const histories, shares, units, clients, stepsEach, most = 6, 3, 4, 5, 10, 9
	e := newEnv(t)
	refused, moved := 0, int64(0)
	for seed := range uint64(histories) {
		h := &splitHistory{env: e, shares: shares, p: newProcess(e.stores, func(order.Batch) {}), cancelled: map[int64]bool{}}
		h.voucher = e.splitSale(t, h.p, shares, units).ID
		h.run(t)
		users := append(usersOf(h.voucher, shares, int(seed%shares), most), usersOf(h.voucher, shares, int(seed+1)%shares, 2)...)
		var acting sync.WaitGroup
		for c := range clients {
			acting.Go(func() { h.client(t, rand.New(rand.NewPCG(seed, uint64(c))), users, stepsEach) })
		}
		acting.Go(func() { h.disturb(t, rand.New(rand.NewPCG(seed, clients))) })
		acting.Wait()
		for _, user := range users { // until each knows
			h.ask(t, user)
		}
		evidence := h.quiesce(t, units)
		h.stop()
		if report := checker.Check(evidence); report.Total > 0 {
			t.Errorf("history %d: %+v", seed, report.Findings)
		}
		live := map[int64]int64{}
		for _, o := range evidence.Views[0].Orders {
			if o.Status.Live() {
				live[o.User] = o.ID
			}
		}
		if got := linear.Check(units, h.answers, live, quiesceTimeout); got != linear.Yes {
			for _, a := range h.answers {
				t.Log(a)
			}
			t.Fatalf("history %d is %s; in the end %v", seed, got, live)
		}
		for _, a := range h.answers {
			if a.Code == checker.CodeSoldOut {
				refused++
			}
		}
		for _, share := range evidence.Shares {
			moved += share.Ledger.MovedIn
		}
	}
	t.Logf("%d histories: %d units moved, %d answers SOLD_OUT", histories, moved, refused)
	if moved == 0 || refused == 0 {
		t.Error("no unit moved, or nobody was told that the sale is sold out")
	}
}

// splitHistory is one sale, and what its users were answered.
type splitHistory struct {
	*env

	shares  int
	voucher int64
	stop    func()

	mu        sync.Mutex
	p         *process
	answers   []checker.Answer
	cancelled map[int64]bool // users who have begun to cancel: they come no more
}

// run starts what a process does all the time.
func (h *splitHistory) run(t *testing.T) {
	t.Helper()
	h.dead = append(h.dead, h.p)
	p := h.p
	working, stop := context.WithCancel(t.Context())
	for _, run := range []func(context.Context) error{p.newRecorder().Run, p.outbox.Run, p.reconciler.Run} {
		p.jobs.Go(func() { _ = run(working) }) // its error is that it was stopped
	}
	h.stop = stop
}

// process is the one that serves now.
func (h *splitHistory) process() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.p
}

// disturb has a share rebuilt, and the process die while units move.
func (h *splitHistory) disturb(t *testing.T, r *rand.Rand) {
	p := h.process()
	switch r.IntN(3) {
	case 0:
		sale := order.SaleID{VoucherID: h.voucher, Share: r.IntN(h.shares)}
		p.repairs.RequestRepair(sale, 1)
		if err := p.reconciler.OpenSale(t.Context(), sale); err != nil {
			t.Errorf("rebuilding share %d: %v", sale.Share, err)
		}
	case 1:
		p.faults.plan([]string{"apply", "complete operations", "request move"}[r.IntN(3)], []fault{diesBefore, diesAfter}[r.IntN(2)])
	case 2:
		p.faults.plan([]string{"apply", "complete operations", "look"}[r.IntN(3)], answerLost)
	}
}

// alive returns the process, or a new one if it has died.
func (h *splitHistory) alive(t *testing.T) *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.p.faults.isDead() {
		h.stop()
		h.p = newProcess(h.stores, func(order.Batch) {})
		h.run(t)
	}
	return h.p
}

// comes reports whether the user may send a request, and since when it is under way. One who cancels sends no other after it: they hold
// their order in Redis until the outbox gets through.
func (h *splitHistory) comes(action checker.Action, user int64) (sent time.Time, may bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	may = !h.cancelled[user]
	h.cancelled[user] = !may || action == checker.Cancel
	return time.Now(), may
}

// do carries a request out and notes its answer.
func (h *splitHistory) do(t *testing.T, action checker.Action, user, id int64) checker.Answer {
	p := h.alive(t)
	sent, may := h.comes(action, user)
	if !may {
		return checker.Answer{Outcome: checker.Refused}
	}
	a := checker.Answer{Action: action, User: user, Voucher: h.voucher, Order: id, Units: 1, Outcome: checker.Accepted, Sent: sent}
	var err error
	switch action {
	case checker.Buy:
		var o order.Order
		if o, err = p.buy(t.Context(), user, h.voucher, order.OneUnit, 0); err == nil {
			a.Order = o.ID
		}
	default:
		_, err = p.orders.Cancel(t.Context(), user, id)
	}
	a.Received = time.Now()
	held, is := errors.AsType[*order.AlreadyBoughtError](err)
	switch {
	case err == nil:
	case is:
		a.Outcome, a.Order = checker.Held, held.OrderID
	case errors.Is(err, order.ErrSoldOut):
		a.Outcome, a.Code = checker.Refused, checker.CodeSoldOut
	case errors.Is(err, order.ErrPaused), errors.Is(err, order.ErrUnavailable) && action == checker.Buy:
		a.Outcome, a.Code = checker.Later, err.Error()
	default:
		a.Outcome, a.Code = checker.Unknown, err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers = append(h.answers, a)
	return a
}

// client has users buy, in any order; those who have an order ask again, or cancel it.
func (h *splitHistory) client(t *testing.T, r *rand.Rand, users []int64, steps int) {
	for range steps {
		user := users[r.IntN(len(users))]
		a := h.do(t, checker.Buy, user, 0)
		if a.Order != 0 && r.IntN(4) == 0 {
			h.do(t, checker.Cancel, user, a.Order)
		}
	}
}

// ask has a user ask until they know.
func (h *splitHistory) ask(t *testing.T, user int64) {
	t.Helper()
	for end := time.Now().Add(quiesceTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if a := h.do(t, checker.Buy, user, 0); a.Outcome != checker.Later && a.Outcome != checker.Unknown {
			return
		}
	}
	t.Errorf("user %d does not learn what they have", user)
}

// quiesce waits until nothing is under way, and reads what the stores have then.
func (h *splitHistory) quiesce(t *testing.T, units int64) checker.Evidence {
	t.Helper()
	for end := time.Now().Add(quiesceTimeout); ; time.Sleep(2 * time.Millisecond) { // the stores have no signal for it
		h.alive(t)
		var pending int64
		must(t, h.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1 AND voucher_id = ?", h.voucher).Scan(&pending))
		if pending == 0 && h.queued(t) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("not quiescent: %d operations are pending, %d entries wait", pending, h.queued(t))
		}
	}
	// In the order in which they were sent: others may have asked for the same user while a cancel was under way.
	sent := slices.SortedFunc(slices.Values(h.answers), func(a, b checker.Answer) int { return a.Sent.Compare(b.Sent) })
	var stock int64
	e := checker.Evidence{
		Voucher: h.voucher, Issued: units, Answers: slices.Values(sent), LedgerStock: &stock, ShownStock: &stock,
		Redis:  &checker.Redis{Holders: map[int64]int64{}, Shares: map[int64]int{}},
		Views:  []checker.View{{Name: "the ledger", Complete: true}},
		GaveUp: true, // those who have cancelled
	}
	for i := range h.shares {
		share := h.share(t, order.SaleID{VoucherID: h.voucher, Share: i}, e.Redis)
		e.Shares = append(e.Shares, share)
		stock, e.Redis.Stock = stock+share.Ledger.Stock, e.Redis.Stock+share.Redis.Stock
	}
	h.eachRow(t, "SELECT id, user_id, share, status FROM tb_voucher_order WHERE voucher_id = ?", func(row []int64) {
		o := checker.Order{ID: row[0], User: row[1], Voucher: h.voucher, Share: int(row[2]), Status: checker.Status(row[3]), Units: 1}
		if mine := split.ShareOf(h.voucher, o.User, h.shares); mine != o.Share {
			t.Errorf("order %d of user %d, whose share is %d, is in share %d", o.ID, o.User, mine, o.Share)
		}
		e.Views[0].Orders = append(e.Views[0].Orders, o)
	})
	return e
}

// share reads one share from both stores, and adds its holders.
func (h *splitHistory) share(t *testing.T, id order.SaleID, redis *checker.Redis) (share checker.Share) {
	t.Helper()
	must(t, h.db.QueryRowContext(t.Context(), "SELECT stock, moved_out, moved_in FROM tb_seckill_voucher WHERE voucher_id = ? AND share = ?", id.VoucherID, id.Share).
		Scan(&share.Ledger.Stock, &share.Ledger.MovedOut, &share.Ledger.MovedIn))
	sale, err := h.rdb.HGetAll(t.Context(), h.prefix+"{p0}:sale:"+id.String()).Result()
	must(t, err)
	share.Redis = checker.ShareUnits{
		Stock: number(sale["stock"]) + number(sale["returned"]), MovedOut: number(sale["moved_out"]), MovedIn: number(sale["moved_in"]),
	}
	holders, err := h.rdb.HGetAll(t.Context(), h.prefix+"{p0}:buyers:"+id.String()).Result()
	must(t, err)
	for user, text := range holders {
		held, _, _ := strings.Cut(text, ":")
		redis.Holders[number(user)], redis.Shares[number(user)] = number(held), id.Share
	}
	return share
}

func (h *splitHistory) eachRow(t *testing.T, query string, read func(row []int64)) {
	t.Helper()
	rows, err := h.db.QueryContext(t.Context(), query, h.voucher)
	must(t, err)
	defer func() { _ = rows.Close() }() // read to its end below
	columns, err := rows.Columns()
	must(t, err)
	for rows.Next() {
		values, targets := make([]sql.NullInt64, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		must(t, rows.Scan(targets...))
		row := make([]int64, len(values))
		for i, v := range values {
			row[i] = v.Int64
		}
		read(row)
	}
	must(t, rows.Err())
}

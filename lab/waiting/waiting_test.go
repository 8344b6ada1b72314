package waiting

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"seckill/internal/feature/waitlist"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

const (
	waiting, units = 20_000, 270
	// window is shorter than the half minute that a sale must have.
	window = 3 * time.Second
	idle   = 5 * time.Second // how long the list is idle while its cost is measured
)

// crowd is the behaviour of those who wait, in percent: accept at once, decline, and the rest sleep; standing is the
// percentage of sleepers who have said yes beforehand.
type crowd struct{ accept, decline, standing int64 }

// BenchmarkWaiting returns 270 units to a list of 20,000, with the feature's own job on a real ledger. A stand-in for
// Redis gives each acceptance its order at once. Use -benchtime=1x.
func BenchmarkWaiting(b *testing.B) {
	for name, c := range map[string]crowd{
		"thirds":                  {33, 33, 0},
		"90-asleep":               {5, 5, 0},
		"90-asleep-half-said-yes": {5, 5, 50},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				open(b).live(b, c)
			}
		})
	}
}

// list is a sold-out sale with 20,000 who wait.
type list struct {
	ledgertest.Whole

	lists   *waitlist.Ledger
	turns   *waitlist.Turns
	job     *waitlist.Job
	voucher voucher.Voucher
	claims  []order.Claim

	mu     sync.Mutex
	nextID int64
}

// Next implements order.IDs.
func (l *list) Next(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextID++
	return 1<<50 + l.nextID, nil
}

// RequestFlush implements order.FlushRequester; operations are completed by decide.
func (*list) RequestFlush(int64) {}

func open(b *testing.B) *list {
	b.Helper()
	opened, err := sqlstore.OpenMySQL(b.Context(), ledgertest.MigratedMySQL(b), ledgertest.Limits())
	must(b, err)
	store := ledgertest.WholeOf(opened)
	b.Cleanup(func() { must(b, store.Close()) })
	l := &list{Whole: store, lists: waitlist.NewLedger(store.DB(), store.Features.KeptUnits)}
	metrics := waitlist.NewMetrics()
	l.turns = waitlist.NewTurns(l.lists.Turn, l, l, metrics)
	l.job = waitlist.NewJob(l.turns, l.lists.Due, slog.New(slog.DiscardHandler))
	store.Use(sqlkit.Hook{Feature: "waitlist", Kept: l.job.Wake, Promised: waitlist.Promised})
	v := ledgertest.Draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{
		Stock: units, Issued: units, Begin: time.Now().Add(-time.Hour), End: time.Now().Add(time.Hour),
		InviteWindow: window,
	}
	must(b, store.CreateVoucher(b.Context(), &v, ledgertest.Admin))
	_, err = store.RaiseEpoch(b.Context(), v.ID, 0, order.SaleView{})
	must(b, err)
	l.voucher, l.claims = v, ledgertest.Claims(v.ID, 1, units)
	must(b, store.Insert(b.Context(), l.claims))
	return l
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// live lets all join, returns the units, and answers invitations as the crowd does until every unit is sold.
func (l *list) live(b *testing.B, c crowd) {
	b.Helper()
	began := time.Now()
	for from := int64(0); from < waiting; from += 500 {
		joining := make([]waitlist.Joining, 500)
		for i := range joining {
			user := 1000 + from + int64(i)
			yes := user%100 >= c.accept+c.decline && (user/100)%100 < c.standing
			joining[i] = waitlist.Joining{UserID: user, Standing: &yes}
		}
		_, err := l.lists.Join(b.Context(), l.voucher.ID, joining, 0)
		must(b, err)
	}
	b.ReportMetric(waiting/time.Since(began).Seconds(), "joins/s")
	working, stop := context.WithCancel(b.Context())
	var job sync.WaitGroup
	job.Go(func() { _ = l.job.Run(working) }) // it always returns nil
	defer job.Wait()
	defer stop()
	before := processor(b)
	time.Sleep(idle) // an idle list is what is measured
	b.ReportMetric(100*(processor(b)-before).Seconds()/idle.Seconds(), "idle-%-of-a-processor")

	returned := time.Now()
	for _, claim := range l.claims {
		_, err := l.Transition(b.Context(), claim.OrderID, claim.UserID, order.Cancel, order.Owner)
		must(b, err)
	}
	var sold []time.Duration
	answered, public, late := map[int64]bool{}, int64(0), 0
	for len(sold) < units && time.Since(returned) < 10*time.Minute {
		for _, user := range l.invited(b, answered) {
			switch kind := user % 100; {
			case kind < c.accept:
				id, _ := l.Next(b.Context())
				_, err := l.lists.Accept(b.Context(), l.voucher, user, id)
				if errors.Is(err, waitlist.ErrNotInvited) { // the machine was too slow for the short window
					late++
					delete(answered, user)
					continue
				}
				must(b, err)
			case kind < c.accept+c.decline:
				_, err := l.lists.Leave(b.Context(), l.voucher.ID, user)
				must(b, err)
				l.job.Wake(l.voucher.ID)
			}
		}
		for range l.decide(b) {
			sold = append(sold, time.Since(returned))
		}
		v, err := l.Voucher(b.Context(), l.voucher.ID)
		must(b, err)
		public = max(public, v.Sale.Stock)
	}
	slices.Sort(sold)
	if len(sold) != units {
		b.Errorf("%d of %d units are somebody's", len(sold), units)
	}
	b.ReportMetric(float64(public), "units-on-sale")
	b.ReportMetric(float64(late), "answered-late")
	b.ReportMetric(float64(l.passedOver(b)), "passed-over")
	b.ReportMetric(sold[len(sold)/2].Seconds(), "sold-p50-s")
	b.ReportMetric(sold[len(sold)*99/100].Seconds(), "sold-p99-s")
}

// invited returns the invited users that it has not returned before: a sleeper who is invited again sleeps on.
func (l *list) invited(b *testing.B, asked map[int64]bool) (users []int64) {
	b.Helper()
	var all []int64
	must(b, l.DB().Read(b.Context()).Table("tb_place").Where("voucher_id = ? AND state = ?", l.voucher.ID,
		waitlist.Invited).Order("position").Pluck("user_id", &all).Error)
	for _, user := range all {
		if !asked[user] {
			asked[user] = true
			users = append(users, user)
		}
	}
	return users
}

// decide completes the pending operations, as the outbox does after Redis, and returns the acceptances.
func (l *list) decide(b *testing.B) (accepted []operation.Operation) {
	b.Helper()
	ops, _, err := l.Pending(b.Context(), l.voucher.ID, operation.MaxBatch)
	must(b, err)
	results := make([]operation.Result, len(ops))
	for i, op := range ops {
		results[i] = operation.Result{Number: op.Number, Taken: true}
		if op.Kind == operation.Acceptance {
			accepted = append(accepted, op)
		}
	}
	must(b, l.CompleteOperations(b.Context(), l.voucher.ID, results))
	return accepted
}

// passedOver counts places whose turn has not come although that of a later place has.
func (l *list) passedOver(b *testing.B) (n int64) {
	b.Helper()
	must(b, l.DB().Read(b.Context()).Raw("SELECT COUNT(*) AS n FROM tb_place WHERE voucher_id = ? AND state = ? "+
		"AND turns = 0 AND position < (SELECT MAX(position) FROM tb_place WHERE voucher_id = ? AND turns > 0)",
		l.voucher.ID, waitlist.Waiting, l.voucher.ID).Find(&n).Error)
	return n
}

// processor returns how much processor time this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

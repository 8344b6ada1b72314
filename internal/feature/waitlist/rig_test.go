package waitlist_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/waitlist"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// rig is a sold-out sale with a waiting list in a ledger: users 1 to units have an order each.
type rig struct {
	ledgertest.Ledger
	tb      testing.TB
	lists   *waitlist.Ledger
	turns   *waitlist.Turns
	voucher int64
	keys    int
	woken   atomic.Int64 // how often a commit kept units, or decided acceptances

	mu     sync.Mutex
	turned []order.Turn // what hooks were told; guarded by mu
}

func newRig(tb testing.TB, l ledgertest.Ledger, units int64) *rig {
	tb.Helper()
	r := &rig{Ledger: l, tb: tb, lists: waitlist.NewLedger(l.DB(), l.Features.KeptUnits)}
	r.turns = waitlist.NewTurns(r.lists.Turn, r, r, waitlist.NewMetrics())
	r.sell(units)
	return r
}

// hooked has the ledger's hooks tell the rig.
func (r *rig) hooked() *rig {
	r.Use(sqlkit.Hook{
		Feature: "waitlist", Promised: waitlist.Promised, Kept: func(int64) { r.woken.Add(1) },
		Turned: func(_ *gorm.DB, turns []order.Turn) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.turned = append(r.turned, turns...)
			return nil
		},
	})
	return r
}

// sell creates the sale and sells it out.
func (r *rig) sell(units int64) {
	r.tb.Helper()
	v := ledgertest.Draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{
		Stock: units, Issued: units, Begin: ledgertest.RecordedAt.Add(-time.Hour),
		End: ledgertest.RecordedAt.Add(240 * time.Hour), InviteWindow: window * time.Second,
	}
	if err := r.CreateVoucher(r.tb.Context(), &v, ledgertest.Admin); err != nil {
		r.tb.Fatal(err)
	}
	if _, err := r.RaiseEpoch(r.tb.Context(), v.ID, 0, order.SaleView{}); err != nil {
		r.tb.Fatal(err)
	}
	r.voucher = v.ID
	if units > 0 {
		r.NewOrders(r.tb, v.ID, int(units))
	}
}

// nextID is the last order id that was given out for an acceptance.
var nextID atomic.Int64

// Next implements order.IDs.
func (r *rig) Next(context.Context) (int64, error) { return 1<<50 + nextID.Add(1), nil }

// RequestFlush implements order.FlushRequester.
func (r *rig) RequestFlush(int64) {}

func (r *rig) must(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) row() voucher.Sale { r.tb.Helper(); return r.Sale(r.tb, r.voucher) }

// orderOf returns the user's live order; 0: they have none.
func (r *rig) orderOf(user int64) int64 {
	return r.Number(r.tb, "SELECT COALESCE(MAX(id), 0) FROM tb_voucher_order WHERE voucher_id = ? AND user_id = ? "+
		"AND live = 1", r.voucher, user)
}

func (r *rig) cancel(user int64) {
	r.tb.Helper()
	_, err := r.Transition(r.tb.Context(), r.orderOf(user), user, order.Cancel, order.Owner)
	r.must(err)
}

func (r *rig) join(users ...int64) {
	r.tb.Helper()
	for _, user := range users {
		r.says(user, nil)
	}
}

// says has a user join, with a standing yes or without.
func (r *rig) says(user int64, standing *bool) {
	r.tb.Helper()
	_, err := r.lists.Join(r.tb.Context(), r.voucher, []waitlist.Joining{{UserID: user, Standing: standing}},
		r.row().LastOperation)
	r.must(err)
}

func (r *rig) shown() voucher.Voucher {
	r.tb.Helper()
	v, err := r.Voucher(r.tb.Context(), r.voucher)
	r.must(err)
	return v
}

func (r *rig) accept(user int64) (waitlist.Place, error) {
	r.tb.Helper()
	id, _ := r.Next(r.tb.Context())
	return r.lists.Accept(r.tb.Context(), r.shown(), user, id)
}

func (r *rig) leave(user int64) error {
	_, err := r.lists.Leave(r.tb.Context(), r.voucher, user)
	return err
}

// turn takes turns until nothing is due, and checks that nothing is found to be due then.
func (r *rig) turn() {
	r.tb.Helper()
	r.must(r.turns.Take(r.tb.Context(), r.voucher))
	due, err := r.lists.Due(r.tb.Context())
	r.must(err)
	for _, id := range due {
		if id == r.voucher {
			r.tb.Errorf("something is still due: %s", r.places())
		}
	}
}

// decide completes what is pending: Redis gives an acceptance its order if the user has no other.
func (r *rig) decide() {
	r.tb.Helper()
	ops := r.ReadPending(r.tb, r.voucher)
	results := make([]operation.Result, len(ops))
	for i, op := range ops {
		results[i] = operation.Result{
			Number: op.Number, Taken: op.Kind != operation.Acceptance || r.orderOf(op.UserID) == 0,
		}
	}
	r.must(r.CompleteOperations(r.tb.Context(), r.voucher, results))
}

// restock changes the stock, and has Redis decide at once: it has so many units on sale.
func (r *rig) restock(delta, onSale int64) voucher.StockChange {
	r.tb.Helper()
	r.keys++
	c, err := r.ChangeStock(r.tb.Context(), r.voucher, ledgertest.Admin, delta, fmt.Sprint(r.keys))
	r.must(err)
	if delta < 0 {
		r.must(r.CompleteOperations(r.tb.Context(), r.voucher,
			[]operation.Result{{Number: c.Number, Taken: onSale >= -delta}}))
	}
	return c
}

func (r *rig) pause(paused bool) {
	r.tb.Helper()
	_, err := r.ChangeVoucher(r.tb.Context(), r.voucher, ledgertest.Admin, func(v *voucher.Voucher) error {
		v.Sale.Paused = paused
		return nil
	})
	r.must(err)
}

func (r *rig) rebuild() order.Snapshot {
	r.tb.Helper()
	raised, err := r.RaiseEpoch(r.tb.Context(), r.voucher, 0, order.SaleView{})
	r.must(err)
	snap, err := r.Snapshot(r.tb.Context(), r.voucher, raised.Epoch)
	r.must(err)
	return snap
}

// pass has time pass: all that has happened lies further back, and the ledger was there.
func (r *rig) pass(seconds int64) {
	r.tb.Helper()
	if r.Dialect == "sqlite" {
		r.Clock.Add(seconds * int64(time.Second))
		r.Exec(r.tb, "UPDATE tb_fence SET token = token + ? WHERE name = 'deadlines'", 1000*seconds)
		return
	}
	for _, set := range []string{
		"tb_place SET deadline = deadline - INTERVAL ? SECOND",
		"tb_waiting_list SET paused_at = paused_at - INTERVAL ? SECOND",
		"tb_voucher_operation SET create_time = create_time - INTERVAL ? SECOND",
	} {
		r.Exec(r.tb, "UPDATE "+set+" WHERE voucher_id = ?", seconds, r.voucher)
	}
}

// end ends the sale.
func (r *rig) end() {
	r.Exec(r.tb, "UPDATE tb_seckill_voucher SET end_time = ? WHERE voucher_id = ?",
		ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Second)), r.voucher)
}

// places returns the states of the places, in the order of joining: "12 waiting", "13 invited+1" with a missed window.
func (r *rig) places() string {
	r.tb.Helper()
	rows, err := r.Raw.QueryContext(r.tb.Context(), "SELECT user_id, state, missed FROM tb_place WHERE voucher_id = ? "+
		"ORDER BY position", r.voucher)
	r.must(err)
	defer func() { r.must(rows.Close()) }()
	var all []string
	for rows.Next() {
		var user, missed int64
		var state waitlist.State
		r.must(rows.Scan(&user, &state, &missed))
		all = append(all, placeText(user, state, missed))
	}
	r.must(rows.Err())
	return strings.Join(all, ", ")
}

func placeText(user int64, state waitlist.State, missed int64) string {
	return fmt.Sprintf("%d %s%s", user, state, strings.Repeat("+", int(missed)))
}

func (r *rig) want(places string) {
	r.tb.Helper()
	if got := r.places(); got != places {
		r.tb.Errorf("places: %s\nwant:   %s", got, places)
	}
	r.Conserved(r.tb, r.voucher)
}

package faults

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/test/box"
)

// killsWhileCalledOff is how often an instance or MySQL is killed.
const killsWhileCalledOff = 10

// tillsAsk is how many coupons tills try to redeem once the sale is called off.
const tillsAsk = 50

// TestServerWithBankBuilds checks quickly what F51 needs, which takes too long for CI: what it changes in the sandbox
// still fits the sandbox.
func TestServerWithBankBuilds(t *testing.T) {
	t.Parallel()
	s := box.NewServer(t, "with-bank", map[string]string{})
	s.RefundsAt(t, box.NewBank(t))
}

// saleCalledOff calls a sale off while people buy in it. Half of its units are paid for, one is redeemed, and one is
// reserved at a till. While the orders are unwound, instances and MySQL are killed, the sale is rebuilt, and the bank
// hangs for a while and refuses some refunds. Afterwards every unit, payment and line of a history is accounted for, a
// program of the shop was told each of them, and tills redeem nothing.
func saleCalledOff(units int, hangs time.Duration) func(*run) {
	return func(r *run) {
		bank := box.NewBank(r)
		r.rebuilt = true
		told := r.receiving(deployment{units: int64(units)})
		for _, s := range r.site.Servers {
			s.RefundsAt(r, bank)
			r.must(s.KillAndStart())
		}
		r.put(map[string]any{"redeemable": true})
		coupons := r.buyAndPayMany(units / 2)
		late := r.beginToPay(coupons[0])
		redeemed, reserved := coupons[1], coupons[2]
		if won, err := r.redeem(r.Context(), redeemed); err != nil || !won {
			r.Fatalf("redeeming before: %t, %v", won, err)
		}
		reservation := r.reserve(reserved)
		r.load(16, 10*time.Millisecond)
		r.awaitAccepted(min(50, units/8))
		answer, answers := bank.Hang(), make(chan struct{})
		hung := time.AfterFunc(hangs, func() { answer(); close(answers) })
		defer hung.Stop()
		r.callOff("first")
		for i := range killsWhileCalledOff {
			if i == killsWhileCalledOff/2 { // it is rebuilt, as Redis has lost it
				r.must(r.site.Redis.Del(r.Context(), r.site.Redis.SaleKey(r.buyers.Voucher)).Err())
			}
			if i%3 == 2 {
				r.mysql.Kill()
				r.mysql.Start()
				continue
			}
			r.must(r.site.Servers[r.victim()].KillAndStart())
		}
		r.callOff("second") // twice is one
		r.endLoad()
		r.expectClosed(coupons, reserved, reservation)
		r.site.Client.Must(r, http.StatusOK, late) // the money goes back
		r.await("the bank's answer", answers)
		r.expectUnwound(bank, units, len(coupons)+1)
		r.expectTillsRefused(coupons)
		r.expectReported(units)
		told.expectUnwindingTold()
		r.result.accepted = len(r.buyers.Record.Winners()) + len(coupons) + 1
	}
}

// buyAndPayMany is buyAndPay for many, by several callers at once.
func (r *run) buyAndPayMany(n int) []coupon {
	r.Helper()
	const callers = 8
	var mu sync.Mutex
	var all []coupon
	var buying sync.WaitGroup
	for i := range callers {
		buying.Go(func() {
			some := r.buyAndPay(r.buyers.Voucher, n/callers+min(1, max(0, n%callers-i)))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, some...)
		})
	}
	buying.Wait()
	if len(all) != n {
		r.Fatalf("%d of %d have bought and paid", len(all), n)
	}
	return all
}

// beginToPay lets a new user buy and begin to pay, and returns the request that pays.
func (r *run) beginToPay(coupon) box.Request {
	r.Helper()
	user := r.newUsers(1)[0]
	post := func(want int, path string) box.Reply {
		return r.site.Client.Must(r, want,
			box.Request{Method: http.MethodPost, URL: r.site.URL(path), Token: box.BuyerToken(user)})
	}
	id := box.Decode[box.Placed](r,
		post(http.StatusCreated, fmt.Sprintf("/voucher/seckill/%d?wait=10s", r.buyers.Voucher))).OrderID
	begun := box.Decode[struct{ PayURL string }](r, post(http.StatusOK, "/order/"+id+"/pay"))
	return box.Request{Method: http.MethodPost, URL: r.site.URL(begun.PayURL), Token: box.BuyerToken(user)}
}

// reserve reserves the coupon, and returns the reservation.
func (r *run) reserve(c coupon) string {
	r.Helper()
	reply, err := r.askTill(r.Context(), c, 7002, "reserve", map[string]any{"code": c.code})
	r.must(err)
	var reserved struct{ Reservation struct{ ID string } }
	r.must(json.Unmarshal(reply.Data, &reserved))
	return reserved.Reservation.ID
}

// callOff calls the sale off, and repeats that until it is answered.
func (r *run) callOff(key string) {
	r.Helper()
	path := fmt.Sprintf("/admin/voucher/%d/call-off", r.buyers.Voucher)
	reply, err := r.askUntilAnswered(r.Context(), coupon{}, box.Request{
		Method: http.MethodPost, URL: path, Token: box.AdminToken(),
		Body: map[string]any{"why": "the price was wrong"}, Header: map[string]string{"Idempotency-Key": key},
	})
	r.must(err)
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusAccepted {
		r.Fatalf("calling off is answered %d: %s", reply.StatusCode, reply.Body)
	}
}

// expectClosed fails the scenario if anybody can buy, or a till can redeem a coupon.
func (r *run) expectClosed(coupons []coupon, reserved coupon, reservation string) {
	r.Helper()
	box.Eventually(r, "the answer to a purchase", func() error {
		user := r.newUsers(1)[0]
		reply, err := r.site.Client.Do(r.Context(), box.Request{
			Method: http.MethodPost, Token: box.BuyerToken(user),
			URL: r.site.URL(fmt.Sprintf("/voucher/seckill/%d", r.buyers.Voucher)),
		})
		switch {
		case err != nil:
			return err
		case reply.StatusCode < 300:
			r.Fatalf("a unit is sold after the sale was called off: %s", reply.Body)
		case reply.Code != "CALLED_OFF":
			return fmt.Errorf("%d %s", reply.StatusCode, reply.Body)
		}
		return nil
	})
	r.expectTillsRefused(coupons)
	reply, err := r.askTill(r.Context(), reserved, 7002, "redeem",
		map[string]any{"code": reserved.code, "reservationId": reservation})
	if err != nil || reply.StatusCode != http.StatusConflict {
		r.Errorf("a till redeems what it has reserved: %d %s, %v", reply.StatusCode, reply.Body, err)
	}
}

// expectTillsRefused fails the scenario if a till redeems one of the coupons. The second was redeemed before.
func (r *run) expectTillsRefused(coupons []coupon) {
	r.Helper()
	step := max(1, len(coupons)/tillsAsk)
	for i := 0; i < len(coupons); i += step {
		if i == 1 {
			continue
		}
		if won, err := r.redeem(r.Context(), coupons[i]); err != nil || won {
			r.Errorf("a till redeems order %s after the sale was called off: %v", coupons[i].order, err)
		}
	}
}

// expectReported fails the scenario unless the shop is shown that the sale is unwound, and the redeemed order.
func (r *run) expectReported(units int) {
	r.Helper()
	var refunded int64
	r.must(r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? "+
		"AND status = ?", r.buyers.Voucher, order.Refunded).Scan(&refunded))
	u := box.Decode[struct {
		Unwound          bool
		Withdrawn, Kept  int64
		Redeemed, Unpaid struct{ Orders int64 }
		Refunded         struct{ Orders int64 }
		Left             []struct{ Fate string }
	}](r, r.site.Client.Must(r, http.StatusOK, box.Request{
		Method: http.MethodGet, Token: box.AdminToken(),
		URL: r.site.URL(fmt.Sprintf("/admin/voucher/%d/call-off", r.buyers.Voucher)),
	}))
	if !u.Unwound || u.Withdrawn != int64(units)-1 || u.Kept != 0 || u.Redeemed.Orders != 1 || u.Unpaid.Orders != 0 ||
		len(u.Left) != 1 || u.Left[0].Fate != "redeemed" || u.Refunded.Orders != refunded {
		r.Errorf("the shop is shown %+v", u)
	}
}

// expectUnwindingTold waits until the receiver was told everything, and fails the scenario unless it was told the
// call-off once, and each step of each order.
func (w *hooked) expectUnwindingTold() {
	w.Helper()
	w.endLease()
	w.allSent()
	w.expectDead(0)
	if n := w.number("SELECT COUNT(*) FROM tb_webhook_event WHERE type = 'sale.called_off'"); n != 1 {
		w.Errorf("%d events say that the sale was called off", n)
	}
	// Unpaid and cancelled; with paid, redeemed; with paid and refunding, refunded. Of the money that came after a
	// cancel events of its payment tell.
	rows, err := w.site.Ledger.DB.QueryContext(w.Context(), "SELECT o.id, o.status, GROUP_CONCAT(e.type) FROM "+
		"tb_voucher_order o LEFT JOIN tb_webhook_event e ON e.subject = CONCAT('order-', o.id) AND "+
		"e.type LIKE 'order.%' GROUP BY o.id, o.status "+
		"HAVING COUNT(e.type) <> CASE o.status WHEN ? THEN 2 WHEN ? THEN 3 WHEN ? THEN 4 ELSE 0 END",
		order.Cancelled, order.Redeemed, order.Refunded)
	w.must(err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, status int64
		var events sql.NullString
		w.must(rows.Scan(&id, &status, &events))
		w.Errorf("order %d in state %d has not one event for each of its steps: %s", id, status, events.String)
	}
	w.must(rows.Err())
	w.expectTaken()
}

// untilNone waits until the count is 0. It fails the scenario once the count has not fallen for box.Patience: how long
// the whole takes depends on the machine.
func (r *run) untilNone(what string, count func() (int64, error)) {
	r.Helper()
	least, fell := int64(math.MaxInt64), time.Now()
	for {
		n, err := count()
		switch {
		case err == nil && n == 0:
			return
		case err == nil && n < least:
			least, fell = n, time.Now()
		case time.Since(fell) > box.Patience:
			r.Fatalf("%s: %d are left, and none fewer for %v: %v", what, n, box.Patience, err)
		}
		time.Sleep(50 * time.Millisecond) // no signal tells
	}
}

// expectUnwound waits until all orders are unwound, and fails the scenario unless each unit, each payment and each line
// of a history is accounted for, against the bank's own record. paid is how many orders were paid, one of them late.
func (r *run) expectUnwound(bank *box.Bank, units, paid int) {
	r.Helper()
	v := r.buyers.Voucher
	count := func(query string, args ...any) (n int64) {
		r.Helper()
		r.must(r.site.Ledger.DB.QueryRowContext(r.Context(), query, args...).Scan(&n))
		return n
	}
	const going = "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status IN (1, 2)"
	r.untilNone("orders to be recorded and unwound", func() (int64, error) {
		waiting, _, err := r.site.Redis.Backlog(r.Context())
		return count(going, v) + waiting, err
	})
	refused := r.untilRefused(bank)
	refusals := bank.Relent()
	r.faultOver = time.Now()
	r.untilNone("payments on their way back", func() (int64, error) {
		return count("SELECT COUNT(*) FROM tb_payment WHERE voucher_id = ? AND state = ?", v,
			payment.Refunding), nil
	})
	r.result.recovery = time.Since(r.faultOver)
	live := count("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND live = 1", v)
	redeemed := count("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status = ?", v, order.Redeemed)
	stock, _, err := r.site.Ledger.Sale(r.Context(), v)
	r.must(err)
	if live != 1 || redeemed != 1 || stock != int64(units)-1 {
		r.Errorf("%d orders are live, %d redeemed, %d units in the stock of %d", live, redeemed, stock, units)
	}
	for _, id := range r.buyers.Record.Winners() { // by user
		if n := count("SELECT COUNT(*) FROM tb_voucher_order WHERE id = ?", id); n != 1 {
			r.Errorf("accepted order %d has %d rows", id, n)
		}
	}
	// Each is unwound once, and refunded once.
	for _, of := range [][2]string{{"e.actor = 'unwinder'", "o.status IN (4, 6)"}, {"e.status = 6", "o.status = 6"}} {
		lines := count("SELECT COUNT(*) FROM tb_order_event e JOIN tb_voucher_order o ON o.id = e.order_id WHERE "+
			"o.voucher_id = ? AND "+of[0], v)
		if n := count("SELECT COUNT(*) FROM tb_voucher_order o WHERE o.voucher_id = ? AND "+of[1], v); n != lines {
			r.Errorf("%d lines of histories have %s, want %d", lines, of[0], n)
		}
	}
	if n := count("SELECT COUNT(*) FROM tb_audit WHERE voucher_id = ? AND action = 'call_off'", v); n != 1 {
		r.Errorf("it is audited %d times that the sale was called off", n)
	}
	r.expectBank(bank, paid-1) // one was redeemed
	box.Eventually(r, "a Redis that agrees", func() error {
		sale, err := r.site.Redis.HGetAll(r.Context(), r.site.Redis.SaleKey(v)).Result()
		if err != nil {
			return err
		}
		holders, err := r.site.Redis.HLen(r.Context(), r.site.Redis.BuyersKey(v)).Result()
		if err == nil && (sale["mode"] != "over" || holders != 1) {
			err = fmt.Errorf("mode %s, %d holders", sale["mode"], holders)
		}
		return err
	})
	r.Logf("%d payments refused, %d times, %d orders cancelled", refused, refusals,
		count("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status = ?", v, order.Cancelled))
}

// untilRefused waits until the money of all payments has gone back but of those that the bank refuses, and returns how
// many these are.
func (r *run) untilRefused(bank *box.Bank) (refused int) {
	r.Helper()
	r.untilNone("payments that the bank takes", func() (n int64, err error) {
		rows, err := r.site.Ledger.DB.QueryContext(r.Context(),
			"SELECT id FROM tb_payment WHERE voucher_id = ? AND state = ?", r.buyers.Voucher, payment.Refunding)
		if err != nil {
			return 0, err
		}
		defer func() { _ = rows.Close() }() // it is read to its end
		refused = 0
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return 0, err
			}
			if bank.Refuses(id) {
				refused++
			} else {
				n++
			}
		}
		return n, rows.Err()
	})
	return refused
}

// expectBank fails the scenario unless the bank has sent back exactly the payments that the ledger says, n of them.
func (r *run) expectBank(bank *box.Bank, n int) {
	r.Helper()
	rows, err := r.site.Ledger.DB.QueryContext(r.Context(),
		"SELECT id, amount FROM tb_payment WHERE voucher_id = ? AND state = ?", r.buyers.Voucher, payment.Refunded)
	r.must(err)
	defer func() { _ = rows.Close() }()
	said := map[string]int64{}
	for rows.Next() {
		var id string
		var cents int64
		r.must(rows.Scan(&id, &cents))
		said[id] = cents
	}
	r.must(rows.Err())
	sent := bank.Refunded()
	if len(said) != n || !maps.Equal(said, sent) {
		r.Errorf("%d payments are refunded, want %d; the bank has sent %d back: %v", len(said), n, len(sent),
			slices.Sorted(maps.Keys(sent)))
	}
}

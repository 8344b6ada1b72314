package faults

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"seckill/test/box"
)

// awayFor is for how long MySQL hangs: longer than a window of a waiting list, and over payment deadlines.
const awayFor = 36 * time.Second

// deadlinesPass has MySQL hang for longer than the window of an invitation, and over payment deadlines, while the
// invited user keeps accepting, and a buyer keeps paying. Neither loses anything by a time in which nobody could act,
// nor does a buyer who pays only once the jobs that end deadlines are at work again: those who ask all the time may be
// faster than these. A buyer who does not come back loses the order soon afterwards.
func deadlinesPass(r *run) {
	r.open(deployment{units: 200})
	fields := map[string]any{"waitlistWindowSeconds": 30, "payWithinSeconds": 30, "payValue": 1000}
	w := &waitingSale{run: r, buyers: r.site.Buyers(r.createSale(1, fields)), units: 1}
	invited := r.newUsers(2)
	w.buyers.BuyAll(r.Context(), 1, invited[:1])
	w.until(0, invited[1], w.path(""), http.StatusCreated)

	late := r.createSale(3, map[string]any{"payWithinSeconds": 30, "payValue": 1000})
	unpaid := r.site.Buyers(late)
	owners := r.newUsers(3)
	unpaid.BuyAll(r.Context(), 1, owners)
	box.Eventually(r, "three orders", func() error {
		rows, err := r.site.Ledger.Orders(r.Context(), late)
		if err == nil && len(rows) != len(owners) {
			err = fmt.Errorf("%d", len(rows))
		}
		return err
	})
	orders := unpaid.Record.Winners()

	first := w.buyers.Record.Winners()[invited[0]]
	// Conflict: it was cancelled by a request whose answer was lost.
	w.until(0, invited[0], fmt.Sprintf("/order/%d/cancel", first), http.StatusOK, http.StatusConflict)
	box.Eventually(r, "the invitation", func() error { return w.placeIs(invited[1], 2) })

	r.mysql.Pause()
	var asking sync.WaitGroup
	asking.Go(func() { w.until(0, invited[1], w.path("/accept"), http.StatusCreated, http.StatusAccepted) })
	asking.Go(func() { w.pay(owners[0], orders[owners[0]]) })
	defer asking.Wait()
	<-time.After(awayFor)
	r.mysql.Resume()
	w.jobsLook()
	if state := w.orderState(orders[owners[2]]); state != 1 {
		r.Fatalf("the order of a buyer who comes back now has state %d, want 1, unpaid", state)
	}
	w.pay(owners[2], orders[owners[2]])
	r.await("an accepted invitation and a payment", closedAfter(&asking))
	box.Eventually(r, "the order of the invited user", func() error { return w.placeIs(invited[1], 4) })
	box.Eventually(r, "two orders paid and one cancelled", func() error {
		var paid, cancelled int
		err := r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT COALESCE(SUM(status = 2), 0), "+
			"COALESCE(SUM(status = 4), 0) FROM tb_voucher_order WHERE voucher_id = ?", late).Scan(&paid, &cancelled)
		if err == nil && (paid != 2 || cancelled != 1) {
			err = fmt.Errorf("%d paid, %d cancelled", paid, cancelled)
		}
		return err
	})
	r.faultEnded() // only now: nothing expires in the half minute after the gap
	r.finish()
}

// looking is for how long the jobs that end deadlines note the time until each has looked for what is due. It is
// longer than their pauses after errors, and much shorter than the time in which no deadline counts.
const looking = 10 * time.Second

// jobsLook returns once the jobs that end deadlines have noted the time for a while: each has looked for what is due.
func (w *waitingSale) jobsLook() {
	var since int64
	err := w.site.Ledger.DB.QueryRowContext(w.Context(), "SELECT ROUND(1000 * UNIX_TIMESTAMP(NOW(3)))").Scan(&since)
	if err != nil {
		w.Fatal(err)
	}
	box.Eventually(w, "notes of the jobs", func() error {
		var noted int64
		err := w.site.Ledger.DB.QueryRowContext(w.Context(),
			"SELECT token FROM tb_fence WHERE name = 'deadlines'").Scan(&noted)
		if err == nil && noted-since < looking.Milliseconds() {
			err = fmt.Errorf("the last was %d ms after MySQL had come back", noted-since)
		}
		return err
	})
}

func (w *waitingSale) orderState(id int64) (state int) {
	err := w.site.Ledger.DB.QueryRowContext(w.Context(), "SELECT status FROM tb_voucher_order WHERE id = ?", id).
		Scan(&state)
	if err != nil {
		w.Fatal(err)
	}
	return state
}

// placeIs returns an error unless the user's place in the list has the state.
func (w *waitingSale) placeIs(user int64, state int) error {
	var is int
	err := w.site.Ledger.DB.QueryRowContext(w.Context(),
		"SELECT state FROM tb_place WHERE voucher_id = ? AND user_id = ?", w.buyers.Voucher, user).Scan(&is)
	if err == nil && is != state {
		err = fmt.Errorf("the place has state %d, want %d", is, state)
	}
	return err
}

// pay begins to pay for the user's order, and pays, each until it is answered.
func (w *waitingSale) pay(user, order int64) {
	begun := w.until(0, user, fmt.Sprintf("/order/%d/pay", order), http.StatusOK)
	if w.Failed() {
		return
	}
	w.until(0, user, box.Decode[struct{ PayURL string }](w, begun).PayURL, http.StatusOK)
}

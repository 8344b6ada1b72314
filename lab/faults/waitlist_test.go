package faults

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/scripts"
	"seckill/test/box"
)

// Parts of the statements that keep units, invite users, accept invitations, and write the orders.
const (
	unitsKept          = "kept = kept + "
	placesInvited      = "`invite_time`="
	invitationAccepted = "`order_id`="
	invitationBought   = "an invitation of the waiting list was accepted"
)

// cancelledAtOnce is how many units come back in one step.
const cancelledAtOnce = 4

// waitingSale is a sold-out sale with a waiting list.
type waitingSale struct {
	*run

	buyers    *box.Buyers
	units     int64
	owners    []int64 // users who have bought
	waiters   []int64 // in the order of joining
	cancelled int     // how many owners have cancelled; as many waiters have been invited
}

// waitingServed has units come back to a sale with a waiting list, and those who wait accept them, while instances
// die at every step, and Redis is emptied. A program of the shop is told of each turn.
func waitingServed(r *run) {
	r.rebuilt = true
	h := r.receiving(deployment{})
	r.load(4, 50*time.Millisecond)
	r.awaitAccepted(50)
	w := r.waitingSale(28, 40)
	for _, at := range []testkit.Match{
		{Text: commit, After: unitsKept, Answered: true}, {Text: commit, After: placesInvited},
	} {
		w.killed(w.cancel, at)
		w.accept(0)
	}
	for _, at := range []testkit.Match{
		{Text: commit, After: invitationAccepted},
		{Text: digest(scripts.Source("apply")), Answered: true},
		{Text: commit, After: invitationBought, Answered: true},
	} {
		w.cancel(0)
		w.killed(w.accept, at)
	}
	w.cancel(0)
	r.awaitClaimed() // what the last one killed had accepted is not remembered by anybody if Redis loses it
	var accepting sync.WaitGroup
	accepting.Go(func() { w.accept(0) })
	r.must(r.site.Redis.FlushAll(r.Context()).Err())
	r.await("the last accept", closedAfter(&accepting))
	r.faultEnded()
	w.expectServed()
	h.expectTurns(w.buyers.Voucher)
	r.awaitAccepted(50)
	r.finish()
}

// waitingSale sells a sale out and has users wait for units.
func (r *run) waitingSale(units, waiters int) *waitingSale {
	r.Helper()
	voucher := r.createSale(int64(units), map[string]any{"waitlistWindowSeconds": 600})
	w := &waitingSale{
		run: r, buyers: r.site.Buyers(voucher), units: int64(units), owners: r.newUsers(units),
		waiters: r.newUsers(waiters),
	}
	w.buyers.BuyAll(r.Context(), 8, w.owners)
	for i, user := range w.waiters {
		w.until(i, user, w.path(""), http.StatusCreated)
	}
	return w
}

func (w *waitingSale) path(step string) string {
	return fmt.Sprintf("/voucher/%d/waitlist%s", w.buyers.Voucher, step)
}

// killed kills the instance that comes first to a request of its own in a step, any of them: each outbox may complete
// an acceptance. Then it starts it again.
func (w *waitingSale) killed(step func(n int), at testkit.Match) {
	w.Helper()
	first := make(chan int, len(w.proxies))
	breaks := make([]*testkit.Breakpoint, len(w.proxies))
	for i, p := range w.proxies {
		proxy := p.mysql
		if at.Text != commit {
			proxy = p.redis
		}
		breaks[i] = proxy.Break(at)
		go func() {
			select {
			case <-breaks[i].Reached():
				first <- i
			case <-w.Context().Done():
			}
		}()
	}
	var acting sync.WaitGroup
	asked := w.victim()
	acting.Go(func() { step(asked) })
	select {
	case n := <-first:
		w.must(w.site.Servers[n].KillAndStart())
		breaks[n].Cut()
	case <-time.After(box.Patience):
		w.Errorf("no instance came to %+v", at)
	}
	for _, b := range breaks {
		b.Release()
	}
	w.await("the last answer", closedAfter(&acting))
}

// cancel cancels some more orders.
func (w *waitingSale) cancel(n int) {
	winners := w.buyers.Record.Winners()
	for _, user := range w.owners[w.cancelled : w.cancelled+cancelledAtOnce] {
		// Conflict: it was cancelled by a request whose answer was lost.
		w.until(n, user, "/order/"+strconv.FormatInt(winners[user], 10)+"/cancel", http.StatusOK, http.StatusConflict)
	}
	w.cancelled += cancelledAtOnce
}

// accept has those accept who wait for the units that came back last.
func (w *waitingSale) accept(n int) {
	var accepting sync.WaitGroup
	for _, user := range w.waiters[w.cancelled-cancelledAtOnce : w.cancelled] {
		accepting.Go(func() { w.until(n, user, w.path("/accept"), http.StatusCreated, http.StatusAccepted) })
	}
	accepting.Wait()
}

// expectServed fails the scenario unless each unit that came back is an order of one of those who waited longest, and
// nothing else has changed.
func (w *waitingSale) expectServed() {
	w.Helper()
	count := func(query string) (n int64) {
		w.Helper()
		w.must(w.site.Ledger.DB.QueryRowContext(w.Context(), query, w.buyers.Voucher).Scan(&n))
		return n
	}
	served := int64(w.cancelled)
	box.Eventually(w, "an order for each acceptance", func() error {
		n := count("SELECT COUNT(*) FROM tb_place p JOIN tb_voucher_order o ON o.id = p.order_id AND " +
			"o.user_id = p.user_id WHERE p.voucher_id = ? AND p.state = 4 AND o.live = 1")
		if n != served {
			return fmt.Errorf("%d of %d", n, served)
		}
		e, err := w.site.Evidence(w.Context(), w.buyers, w.units)
		if err != nil {
			return err
		}
		e.Others = true
		return box.Contradictions(checker.Check(e))
	})
	last := count("SELECT COALESCE(MAX(position), 0) FROM tb_place WHERE voucher_id = ? AND state <> 1")
	left := count("SELECT kept + stock FROM tb_seckill_voucher WHERE voucher_id = ?")
	live := count("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND live = 1")
	if last != served || left != 0 || live != w.units {
		w.Errorf("%d units came back: places up to %d were served, %d units are kept or on sale, %d "+
			"orders are live of %d", served, last, left, live, w.units)
	}
	w.Logf("%d of %d who wait have bought", served, len(w.waiters))
}

package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/testkit"
	"seckill/test/box"
	"seckill/test/webhooks/receiver"
)

// Parts of the statements that write events, number them, record what was sent, give up, replay, and clean up.
const (
	eventWritten  = "INSERT INTO `tb_webhook_event`"
	eventNumbered = "UPDATE `tb_webhook_sequence`"
	eventsSettled = "UPDATE `tb_webhook_endpoint` SET `shop_id`" // the whole row; a lease is two columns
	eventGivenUp  = "INSERT INTO `tb_webhook_dead_letter`"
	eventReplayed = "INSERT INTO `tb_webhook_retry`"
	eventCleaned  = "DELETE FROM `tb_webhook_event`"
)

// hooked is a sale whose shop has a webhook endpoint.
type hooked struct {
	*run

	to       *receiver.Receiver
	id       int64        // of the endpoint
	poison   atomic.Value // string: the webhook-id that the receiver refuses; "": none
	requests atomic.Int64

	owned     []int64         // orders that can be cancelled
	owners    map[int64]int64 // the orders' owners
	cancelled int             // how many are cancelled so far
	cleaned   int64           // the events of higher orders are all there
}

// hooked opens a deployment whose receiver accepts everything, with orders that can be cancelled.
func (r *run) hooked() *hooked {
	r.Helper()
	w := r.receiving(deployment{})
	w.buy(40)
	r.load(3, 200*time.Millisecond)
	r.awaitAccepted(30)
	w.cancel(5)
	return w
}

// receiving opens a deployment whose receiver accepts everything.
func (r *run) receiving(on deployment) *hooked {
	r.Helper()
	on.settings = map[string]string{"SECKILL_WEBHOOK_ALLOW": "127.0.0.0/8"}
	r.open(on)
	w := &hooked{run: r, to: receiver.New(r)}
	w.poison.Store("")
	w.to.Answers(w.takes)
	made := box.Decode[struct {
		ID     int64
		Secret dispatch.Secret
	}](r, r.site.Client.Must(r, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: r.site.URL("/admin/webhook"), Token: box.AdminToken(),
		Body: map[string]any{"shopId": 0, "url": w.to.URL()},
	}))
	w.id = made.ID
	w.to.Expect(made.Secret)
	time.Sleep(4 * time.Second) // for a second after asking, instances remember that no shop has an endpoint
	return w
}

// buy buys orders of another sale, to be cancelled.
func (w *hooked) buy(n int) {
	w.Helper()
	buyers := w.site.Buyers(w.createSale(int64(n), nil))
	buyers.BuyAll(w.Context(), 8, w.newUsers(n))
	w.owners = make(map[int64]int64, n)
	for user, order := range buyers.Record.Winners() {
		w.owners[order] = user
		w.owned = append(w.owned, order)
	}
	slices.Sort(w.owned)
	if len(w.owned) != n {
		w.Fatalf("%d orders were bought, want %d", len(w.owned), n)
	}
}

// takes returns the receiver's answer.
func (w *hooked) takes(id string) int {
	if id == w.poison.Load() {
		return http.StatusBadRequest
	}
	return http.StatusNoContent
}

// webhookInstancesKilled kills an instance at each step of an event on its way to its row, its number and the receiver,
// and of what follows.
func webhookInstancesKilled(r *run) {
	w := r.hooked()
	w.strikeEach(func(n int, b *testkit.Breakpoint) {
		w.kill(n)
		b.Cut() // otherwise its locks stay for 15 s
		w.endLease()
		w.must(w.site.Servers[n].Start())
	})
}

// webhookMySQLKilled kills MySQL at each of these steps.
func webhookMySQLKilled(r *run) {
	w := r.hooked()
	w.strikeEach(func(_ int, b *testkit.Breakpoint) {
		w.mysql.Kill()
		b.Cut()
		w.mysql.Start()
	})
}

// strikeEach causes the fault at each step, and then expects that all events were sent, in order.
func (w *hooked) strikeEach(strike func(n int, b *testkit.Breakpoint)) {
	w.Helper()
	for _, at := range []testkit.Match{
		{Text: commit, After: eventWritten},
		{Text: commit, After: eventWritten, Answered: true},
		{Text: commit, After: eventNumbered},
		{Text: commit, After: eventNumbered, Answered: true},
		{Text: eventsSettled},
		{Text: commit, After: eventsSettled},
		{Text: commit, After: eventsSettled, Answered: true},
	} {
		w.strike(at, func() { w.cancel(2) }, strike)
	}
	w.strike(testkit.Match{Text: commit, After: eventGivenUp}, w.poisons, strike)
	w.expectDead(1)
	dead := w.poison.Swap("").(string)
	w.strike(testkit.Match{Text: commit, After: eventReplayed}, func() { w.replay(dead) }, strike)
	w.expectDead(0)
	w.strike(testkit.Match{Text: commit, After: eventCleaned}, w.ages, strike)
	w.faultEnded()
	w.awaitAccepted(20)
	w.finish()
	w.expectTold()
}

// strike causes the fault when an instance makes a matching request while act runs.
func (w *hooked) strike(at testkit.Match, act func(), strike func(n int, b *testkit.Breakpoint)) {
	w.Helper()
	first := make(chan int, len(w.proxies))
	breaks := make([]*testkit.Breakpoint, len(w.proxies))
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	for i, p := range w.proxies {
		breaks[i] = p.mysql.Break(at)
		go func() {
			select {
			case <-breaks[i].Reached():
				first <- i
			case <-ctx.Done():
			}
		}()
	}
	var acting sync.WaitGroup
	acting.Go(act)
	select {
	case n := <-first:
		strike(n, breaks[n])
	case <-time.After(box.Patience):
		w.Errorf("no instance came to %+v", at)
	}
	for _, b := range breaks {
		b.Release()
	}
	w.await("the last answer", closedAfter(&acting))
	if w.Failed() {
		w.FailNow() // waiting for the other steps would be in vain too
	}
}

// insist sends a request to one instance after the other until it gets one of the wanted answers.
func (w *hooked) insist(q box.Request, path string, want ...int) {
	ctx, cancel := context.WithTimeout(w.Context(), box.Patience)
	defer cancel()
	for {
		q.URL = w.site.Servers[int(w.requests.Add(1))%len(w.site.Servers)].URL(path)
		reply, err := w.site.Client.Do(ctx, q)
		if err == nil && slices.Contains(want, reply.StatusCode) {
			return
		}
		select {
		case <-ctx.Done():
			w.Errorf("%s %s: %d %s, %v; want one of %v", q.Method, path, reply.StatusCode, reply.Body, err, want)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cancel lets the buyers of n more orders cancel.
func (w *hooked) cancel(n int) {
	for _, order := range w.owned[w.cancelled : w.cancelled+n] {
		// Conflict: it was cancelled by a request whose answer was lost.
		w.insist(box.Request{Method: http.MethodPost, Token: box.BuyerToken(w.owners[order])},
			"/order/"+strconv.FormatInt(order, 10)+"/cancel", http.StatusOK, http.StatusConflict)
		w.cancelled++
	}
}

// kill kills an instance.
func (w *hooked) kill(n int) {
	w.Helper()
	if err := w.site.Servers[n].Kill(); err != nil {
		w.Error(err)
	}
}

// endLease ends the endpoint's lease, which a dead instance has, as nobody waits for that here.
func (w *hooked) endLease() {
	w.Helper()
	w.exec("UPDATE tb_webhook_endpoint SET lease_until = UTC_TIMESTAMP(3)")
}

// exec changes the ledger by hand.
func (w *hooked) exec(query string, args ...any) {
	w.Helper()
	if _, err := w.site.Ledger.DB.ExecContext(w.Context(), query, args...); err != nil {
		w.Errorf("%s: %v", query, err)
	}
}

// number reads a number from the ledger.
func (w *hooked) number(query string, args ...any) (n int64) {
	w.Helper()
	if err := w.site.Ledger.DB.QueryRowContext(w.Context(), query, args...).Scan(&n); err != nil {
		w.Errorf("%s: %v", query, err)
	}
	return n
}

// until waits until the ledger has a number.
func (w *hooked) until(want int64, query string, args ...any) {
	w.Helper()
	var n int64
	// No signal tells when the ledger has it.
	for deadline := time.Now().Add(box.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		// MySQL may just have been killed.
		if err := w.site.Ledger.DB.QueryRowContext(w.Context(), query, args...).Scan(&n); err == nil && n == want {
			return
		}
	}
	w.Errorf("%s: %d, want %d", query, n, want)
}

// expectDead waits until there are n dead letters.
func (w *hooked) expectDead(n int64) {
	w.Helper()
	w.until(n, "SELECT COUNT(*) FROM tb_webhook_dead_letter")
}

// poisons makes the receiver refuse an event, and skips all but one of its attempts.
func (w *hooked) poisons() {
	subject := order.SubjectOfOrder(w.owned[w.cancelled])
	w.poison.Store(dispatch.EventID{Subject: subject, Number: 2}.String())
	w.cancel(1)
	w.until(1, "SELECT COUNT(*) FROM tb_webhook_retry WHERE subject = ?", subject)
	w.exec("UPDATE tb_webhook_retry SET attempts = 8, due_time = UTC_TIMESTAMP(3) WHERE subject = ?", subject)
}

// replay replays an event.
func (w *hooked) replay(id string) {
	q := box.Request{Method: http.MethodPost, Token: box.AdminToken(), Body: map[string]any{"eventId": id}}
	w.insist(q, fmt.Sprintf("/admin/webhook/%d/replay", w.id), http.StatusAccepted)
}

// ages makes events old, and restarts an instance, which looks for such events first.
func (w *hooked) ages() {
	w.until(0, "SELECT COUNT(*) FROM tb_webhook_retry")
	w.expectEvents()
	w.cleaned = w.number("SELECT MAX(CAST(SUBSTRING(subject, 7) AS SIGNED)) FROM tb_webhook_event WHERE number <= 20")
	w.exec("UPDATE tb_webhook_event SET create_time = create_time - INTERVAL 8 DAY WHERE number <= 20")
	n := w.victim()
	w.kill(n)
	w.endLease()
	if _, err := w.site.Servers[n].Launch(); err != nil {
		w.Error(err)
	}
}

// expectEvents checks that each change of an order has one event. The events of the cancelled orders are the first ones
// and are cleaned up first, so this also checks the time before that.
func (w *hooked) expectEvents() {
	w.Helper()
	missing := "SELECT COUNT(*) FROM tb_voucher_order o WHERE o.id > ? " +
		"AND (SELECT COUNT(*) FROM tb_webhook_event e WHERE e.subject = CONCAT('order-', o.id)) " +
		"<> IF(o.status = 4, 2, 1)"
	if n := w.number(missing, w.cleaned); n > 0 {
		w.Errorf("%d orders have not one event for each of their changes", n)
	}
}

// expectTold waits until the receiver has accepted every event, and checks that each change of an order was sent once,
// in the order's sequence.
func (w *hooked) expectTold() {
	w.Helper()
	w.allSent()
	// Old events were cleaned up.
	w.until(0, "SELECT COUNT(*) FROM tb_webhook_event WHERE create_time < UTC_TIMESTAMP(3) - INTERVAL 7 DAY")
	w.expectEvents()
	if n, last := w.number("SELECT COUNT(*) FROM tb_webhook_event"),
		w.number("SELECT MAX(number) FROM tb_webhook_event"); n+20 < last {
		w.Errorf("%d events are left of %d, and 20 were old enough to be deleted", n, last)
	}
	w.expectTaken()
}

// allSent waits until each event has been sent, retries at once: otherwise they wait for minutes, and on a busy machine
// attempts may fail at any time.
func (w *hooked) allSent() {
	w.Helper()
	w.untilNone("events to be sent", func() (n int64, err error) {
		if _, err = w.site.Ledger.DB.ExecContext(w.Context(),
			"UPDATE tb_webhook_retry SET due_time = UTC_TIMESTAMP(3) WHERE due_time > UTC_TIMESTAMP(3)"); err != nil {
			return 0, err
		}
		err = w.site.Ledger.DB.QueryRowContext(w.Context(),
			"SELECT (SELECT COUNT(*) FROM tb_webhook_event WHERE number IS NULL) + "+
				"(SELECT COUNT(*) FROM tb_webhook_retry) + (SELECT COUNT(*) FROM tb_webhook_endpoint p "+
				"JOIN tb_webhook_event e ON e.number >= p.next_number)").Scan(&n)
		return n, err
	})
}

// expectTaken checks that the receiver was told each event that there is.
func (w *hooked) expectTaken() {
	w.Helper()
	rows, err := w.site.Ledger.DB.QueryContext(w.Context(), "SELECT subject, subject_number FROM tb_webhook_event")
	w.must(err)
	defer func() { _ = rows.Close() }() // it is read to its end
	took := w.to.Took()
	events, repeats := 0, 0
	for rows.Next() {
		var id dispatch.EventID
		w.must(rows.Scan(&id.Subject, &id.Number))
		n := took[id.String()]
		if events++; n == 0 {
			w.Errorf("event %s never came", id)
		}
		repeats += max(0, n-1)
	}
	w.must(rows.Err())
	w.to.Right()
	w.Logf("%d events, %d of which came again", events, repeats)
}

// expectTurns checks that each turn of a place of a sale's waiting list is one event, none is of anything else, and the
// receiver was told all of them.
func (w *hooked) expectTurns(voucher int64) {
	w.Helper()
	w.endLease()
	w.allSent()
	rows, err := w.site.Ledger.DB.QueryContext(w.Context(),
		"SELECT position, turns FROM tb_place WHERE voucher_id = ? AND turns > 0", voucher)
	w.must(err)
	defer func() { _ = rows.Close() }() // it is read to its end
	took, changes := w.to.Took(), int64(0)
	for rows.Next() {
		var position, turns int64
		w.must(rows.Scan(&position, &turns))
		for number := int64(1); number <= turns; number++ {
			id := dispatch.EventID{
				Subject: order.SubjectOfPlace(order.PlaceID{VoucherID: voucher, Position: position}), Number: number,
			}
			if changes++; took[id.String()] == 0 {
				w.Errorf("event %s never came", id)
			}
		}
	}
	w.must(rows.Err())
	if n := w.number("SELECT COUNT(*) FROM tb_webhook_event WHERE subject LIKE 'place-%'"); n != changes || n == 0 {
		w.Errorf("%d events of a waiting list, on which %d turns came", n, changes)
	}
	w.to.Right()
}

// receiverFails kills the receiver, makes it answer 500, and makes it not answer, while instances send.
func receiverFails(r *run) {
	w := r.hooked()
	w.cancel(3)
	w.to.Stop()
	w.cancel(3)
	w.awaitAccepted(20)
	w.to.Start()
	var asked atomic.Int64
	w.to.Answers(func(string) int {
		if asked.Add(1)%4 == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	})
	w.cancel(3)
	w.awaitAccepted(20)
	w.to.Answers(func(string) int { return 0 })
	w.cancel(3)
	w.awaitAccepted(10)
	w.to.Answers(w.takes)
	w.faultEnded()
	w.awaitAccepted(20)
	w.finish()
	w.expectTold()
}

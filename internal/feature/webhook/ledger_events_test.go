package webhook_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/webhook"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// endpoint creates an endpoint of the shop.
func (l ledger) endpoint(tb testing.TB, shopID int64) dispatch.Endpoint {
	tb.Helper()
	e, err := l.CreateEndpoint(tb.Context(), dispatch.Terms{ShopID: shopID, URL: "https://example.com/hook"},
		testSecret, ledgertest.Admin)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// numbered numbers all events.
func (l ledger) numbered(tb testing.TB) (n int) {
	tb.Helper()
	for {
		some, err := l.NumberEvents(tb.Context(), 7)
		if err != nil {
			tb.Fatal(err)
		}
		if n += some; some == 0 {
			return n
		}
	}
}

// story returns what endpoints are told of an order, as "number type why" with the number of the order's own.
func (l ledger) story(tb testing.TB, orderID int64) string {
	tb.Helper()
	rows, err := l.Raw.QueryContext(tb.Context(),
		"SELECT subject_number, type, body FROM tb_webhook_event WHERE subject = ? ORDER BY number",
		order.SubjectOfOrder(orderID))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	var parts []string
	for rows.Next() {
		var number int64
		var kind, body string
		if err := rows.Scan(&number, &kind, &body); err != nil {
			tb.Fatal(err)
		}
		var p struct {
			Version, Number int64
			Type            string
			Subject         struct{ Kind, ID string }
			Data            struct{ ID, Status string }
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Version != 1 || p.Type != kind ||
			p.Number != number || p.Subject.Kind != "order" || p.Subject.ID != fmt.Sprint(orderID) ||
			p.Data.ID != p.Subject.ID || kind != "order."+p.Data.Status {
			tb.Errorf("event %d %s of order %d has the body %s, %v", number, kind, orderID, body, err)
		}
		parts = append(parts, fmt.Sprintf("%d %s", number, strings.TrimPrefix(kind, "order.")))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(parts, ", ")
}

// tells fails unless endpoints are told the stories, each of an order.
func (l ledger) tells(t *testing.T, stories map[int64]string) {
	t.Helper()
	if n := l.numbered(t); n == 0 {
		t.Fatal("nothing was numbered")
	}
	for id, want := range stories {
		if got := l.story(t, id); got != want {
			t.Errorf("order %d: %s, want %s", id, got, want)
		}
	}
}

// Every way that an order goes is told, in its order, with the order's own numbers.
func TestEveryStepIsAnEvent(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 20, 1000)
		l.endpoint(t, 1)
		stories := map[int64]string{}

		cs := l.NewOrders(t, v, 3)
		for _, c := range cs {
			l.Receives(t, l.Pays(t, c))
		}
		l.ends(t, cs[0].OrderID, order.Redeem)
		stories[cs[0].OrderID] = "1 unpaid, 2 paid, 3 redeemed"
		asked, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID)
		if err != nil || asked.Status != order.Refunding {
			t.Fatalf("AskRefund = %+v, %v", asked, err)
		}
		payments, err := l.PaymentsOf(t.Context(), cs[1].OrderID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Refunded(t.Context(), payments[0].ID, payments[0].ID, ""); err != nil {
			t.Fatal(err)
		}
		stories[cs[1].OrderID] = "1 unpaid, 2 paid, 3 refunding, 4 refunded"
		l.ends(t, cs[2].OrderID, order.Lapse)
		stories[cs[2].OrderID] = "1 unpaid, 2 paid, 3 lapsed"

		other := ledgertest.Claims(v, 100, 2)
		l.Record(t, other)
		l.Transitioned(t, other[0], order.Cancel)
		l.Transitioned(t, other[1], order.Expire)
		stories[other[0].OrderID], stories[other[1].OrderID] = "1 unpaid, 2 cancelled", "1 unpaid, 2 cancelled"

		failed := ledgertest.Claims(v, 200, 1)
		if err := l.Settle(t.Context(), failed, ledgertest.DecideAll(failed, order.Fail, reason.NoStock)); err != nil {
			t.Fatal(err)
		}
		stories[failed[0].OrderID] = "1 failed"

		plain := l.Bought(t, l.Ordinary(t), 7)
		l.Transitioned(t, plain, order.Cancel)
		l.Receives(t, l.Pays(t, l.Bought(t, l.Ordinary(t), 8)))
		stories[plain.OrderID] = "1 unpaid, 2 cancelled"

		l.tells(t, stories)
	})
}

// A shop without an endpoint has no events, and neither has one whose endpoint was deleted.
func TestNoEventsWithoutEndpoint(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		e := l.endpoint(t, 2) // of another shop than the voucher's
		l.NewOrders(t, v, 1)
		count := func() int64 { return l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event") }
		if n := count(); n != 0 {
			t.Errorf("%d events of a shop without an endpoint", n)
		}
		all := l.endpoint(t, 0)
		l.Record(t, ledgertest.Claims(v, 50, 2))
		if n := count(); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
		for _, id := range []int64{e.ID, all.ID} {
			if err := l.DeleteEndpoint(t.Context(), id, ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
		}
		l.Record(t, ledgertest.Claims(v, 60, 2))
		if n := count(); n != 2 {
			t.Errorf("%d events after the endpoints were deleted, want 2", n)
		}
	})
}

// An endpoint that another instance has created is known to transactions that begin a second later.
func TestFirstEndpointIsKnownASecondLater(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		l.NewOrders(t, v, 1)
		l.Exec(t, "INSERT INTO tb_webhook_endpoint (shop_id, url, secret, next_number, create_time) VALUES "+
			"(1, 'https://example.com', 'x', 1, ?)",
			ledgertest.Stored(ledgertest.RecordedAt))
		for i, c := range []struct {
			later time.Duration
			want  int64
		}{{0, 0}, {time.Second, 1}, {-time.Hour, 2}} { // the last one by a clock that was set back
			l.Clock.Add(int64(c.later))
			l.Record(t, ledgertest.Claims(v, int64(100+i), 1))
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != c.want {
				t.Errorf("%v later: %d events, want %d", c.later, n, c.want)
			}
		}
	})
}

// Who has waited for a connection meanwhile knows it too.
func TestFirstEndpointIsKnownBehindAWait(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		l.NewOrders(t, v, 1)
		l.Exec(t, "INSERT INTO tb_webhook_endpoint (shop_id, url, secret, next_number, create_time) VALUES "+
			"(1, 'https://example.com', 'x', 1, ?)",
			ledgertest.Stored(ledgertest.RecordedAt))
		release := l.takePermits(bulkhead.Recording)
		done := make(chan error, 1)
		go func() { done <- l.Insert(bulkhead.With(t.Context(), bulkhead.Recording), ledgertest.Claims(v, 100, 1)) }()
		for !l.waits(bulkhead.Recording) && len(done) == 0 {
			time.Sleep(time.Millisecond) // the shares have no signal for it
		}
		l.Clock.Add(int64(time.Second))
		release()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != 1 {
			t.Errorf("%d events, want 1", n)
		}
	})
}

// No endpoint hears of a rehearsal, not even one of all shops.
func TestRehearsalsAreNoEvents(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		sale, shadow := l.Seckill(t, 10), l.Seckill(t, 10)
		l.endpoint(t, 0)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, shadow)
		for _, c := range []struct{ voucherID, want int64 }{{shadow, 0}, {sale, 5}} {
			l.Record(t, ledgertest.Claims(c.voucherID, 1, 5))
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != c.want {
				t.Errorf("voucher %d: %d events, want %d", c.voucherID, n, c.want)
			}
		}
	})
}

// A batch that is rolled back leaves no events.
func TestEventsAreRolledBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1)
		l.endpoint(t, 1)
		if err := l.Insert(t.Context(), ledgertest.Claims(v, 1, 2)); err == nil {
			t.Fatal("two orders of one unit are recorded")
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != 0 {
			t.Errorf("%d events of orders that were not recorded", n)
		}
	})
}

// Two transactions that commit in the opposite order of their ids: who reads by the number misses neither, and
// numbering waits for nobody.
func TestNumbersFollowCommits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		if l.Dialect != "mysql" {
			return // SQLite's transactions write one after the other
		}
		e := l.endpoint(t, 1)
		write := func(orderID int64) *sql.Tx {
			tx, err := l.Raw.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.ExecContext(t.Context(),
				"INSERT INTO tb_webhook_event (shop_id, subject, subject_number, type, body, create_time) "+
					"VALUES (1, ?, 1, 'order.unpaid', '{}', UTC_TIMESTAMP(3))", order.SubjectOfOrder(orderID))
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		first, second := write(11), write(22)
		if err := second.Commit(); err != nil {
			t.Fatal(err)
		}
		read := func() (subjects []order.Subject) {
			t.Helper()
			l.numbered(t)
			if _, ok, err := l.ClaimEndpoint(t.Context(), "me", nil, time.Minute); err != nil || !ok {
				t.Fatalf("ClaimEndpoint = %t, %v", ok, err)
			}
			w, err := l.EventsToSend(t.Context(), "me", e.ID, time.Minute, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range w.Events {
				subjects = append(subjects, event.Subject)
			}
			if err := l.SettleEvents(t.Context(), "me", dispatch.Settled{EndpointID: e.ID, Next: w.Next}); err != nil {
				t.Fatal(err)
			}
			if err := l.ReleaseEndpoint(t.Context(), "me", e.ID); err != nil {
				t.Fatal(err)
			}
			return subjects
		}
		if got := read(); !cmp.Equal(got, []order.Subject{"order-22"}) {
			t.Errorf("before the first commit: %v, want 22", got)
		}
		if err := first.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := read(); !cmp.Equal(got, []order.Subject{"order-11"}) {
			t.Errorf("after it: %v, want 11", got)
		}
	})
}

// An event that is replayed while its order's retry is being settled is sent again all the same.
func TestReplayIsNotSettledAway(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 5)
		e := l.endpoint(t, 1)
		c := l.NewOrders(t, v, 1)[0]
		l.Receives(t, l.Pays(t, c))
		l.numbered(t)
		work := func() dispatch.Work {
			t.Helper()
			if _, ok, err := l.ClaimEndpoint(t.Context(), "me", nil, time.Minute); err != nil || !ok {
				t.Fatalf("ClaimEndpoint = %t, %v", ok, err)
			}
			w, err := l.EventsToSend(t.Context(), "me", e.ID, time.Minute, 10)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		settle := func(s dispatch.Settled) {
			t.Helper()
			s.EndpointID = e.ID
			if err := l.SettleEvents(t.Context(), "me", s); err != nil {
				t.Fatal(err)
			}
		}
		w := work()
		settle(dispatch.Settled{Next: w.Next, Behind: []dispatch.Moved{
			{Retry: dispatch.Retry{
				Subject: order.SubjectOfOrder(c.OrderID), Number: w.Events[1].Number, Attempts: 1,
				DueAt: ledgertest.RecordedAt,
			}},
		}})
		w = work()
		if len(w.Retries) != 1 || len(w.Events) != 1 {
			t.Fatalf("work %+v", w)
		}
		if err := l.ReplayEvent(t.Context(), e.ID,
			dispatch.EventID{Subject: order.SubjectOfOrder(c.OrderID), Number: 1}, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		settle(dispatch.Settled{Next: w.Next, Done: w.Retries})
		if w = work(); len(w.Events) != 2 || w.Events[0].SubjectNumber != 1 {
			t.Errorf("after the replay %+v is to be sent", w.Events)
		}
	})
}

// How an old URL took events says nothing of the one that an admin has set meanwhile.
func TestAnOldURLIsNotHeld(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		e := l.endpoint(t, 1)
		l.NewOrders(t, l.Seckill(t, 5), 1)
		l.numbered(t)
		if _, ok, err := l.ClaimEndpoint(t.Context(), "me", nil, time.Minute); err != nil || !ok {
			t.Fatalf("ClaimEndpoint = %t, %v", ok, err)
		}
		w, err := l.EventsToSend(t.Context(), "me", e.ID, time.Minute, 10)
		if err != nil {
			t.Fatal(err)
		}
		change := func(url string) {
			t.Helper()
			_, err := l.ChangeEndpoint(t.Context(), e.ID, voucher.Changed, ledgertest.Admin,
				func(e *dispatch.Endpoint, _ time.Time) error { e.URL = url; return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		failed := dispatch.Settled{
			EndpointID: e.ID, URL: w.Endpoint.URL, Next: w.Next, LastFailure: dispatch.Failure{Code: dispatch.Gone},
			Disable: dispatch.Gone, Health: dispatch.Health{
				Failures: 10, FailingSince: ledgertest.RecordedAt, RetryAt: ledgertest.RecordedAt,
			},
		}
		for _, url := range []string{"https://example.com/new", e.URL} {
			change(url)
			if err := l.SettleEvents(t.Context(), "me", failed); err != nil {
				t.Fatal(err)
			}
			got, err := l.Endpoint(t.Context(), e.ID)
			if same := url == e.URL; err != nil || got.Next != w.Next || got.Disabled != same ||
				got.Health.Broken() != same || (got.LastFailure.Code == dispatch.Gone) != same {
				t.Errorf("%s: %+v, %v", url, got, err)
			}
		}
	})
}

// How an endpoint took events before an admin has enabled it again says nothing of it now.
func TestEndpointThatIsEnabledBeginsAnew(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		e := l.endpoint(t, 1)
		l.NewOrders(t, l.Seckill(t, 5), 1)
		l.numbered(t)
		l.Exec(t, "UPDATE tb_webhook_endpoint SET failures = 40, failing_since = ?, retry_time = ?",
			ledgertest.Stored(ledgertest.RecordedAt), ledgertest.Stored(ledgertest.RecordedAt))
		if _, ok, err := l.ClaimEndpoint(t.Context(), "me", nil, time.Minute); err != nil || !ok {
			t.Fatalf("ClaimEndpoint = %t, %v", ok, err)
		}
		w, err := l.EventsToSend(t.Context(), "me", e.ID, time.Minute, 10)
		if err != nil {
			t.Fatal(err)
		}
		admins := &dispatch.Admin{Endpoints: l.webhooks, Log: l.webhooks, Now: time.Now}
		for _, disabled := range []bool{true, false} {
			if _, err := admins.Change(t.Context(), e.ID, func(t *dispatch.Terms) { t.Disabled = disabled },
				ledgertest.Admin); err != nil {
				t.Fatal(err)
			}
		}
		err = l.SettleEvents(t.Context(), "me", dispatch.Settled{
			EndpointID: e.ID, URL: w.Endpoint.URL, Next: w.Next, HealthWas: w.Endpoint.Health,
			LastFailure: dispatch.Failure{Code: dispatch.Status, Status: 500}, Disable: dispatch.FailedLong,
			Health: dispatch.Health{
				Failures: 41, FailingSince: ledgertest.RecordedAt, RetryAt: ledgertest.RecordedAt.Add(time.Minute),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Endpoint(t.Context(), e.ID); err != nil || got.Disabled ||
			got.Health != (dispatch.Health{}) || got.Next != w.Next {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A lease keeps other processes out until it is over, and one who has lost it changes nothing.
func TestWebhookLease(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 5)
		e := l.endpoint(t, 1)
		l.NewOrders(t, v, 2)
		l.numbered(t)
		claim := func(owner string, want bool, busy ...int64) {
			t.Helper()
			if id, ok, err := l.ClaimEndpoint(t.Context(), owner, busy, time.Minute); err != nil ||
				ok != want || (ok && id != e.ID) {
				t.Fatalf("%s claims: %d, %t, %v", owner, id, ok, err)
			}
		}
		toSend := func(owner string) {
			t.Helper()
			w, err := l.EventsToSend(t.Context(), owner, e.ID, time.Minute, 10)
			if err != nil || len(w.Events) != 2 {
				t.Errorf("%s has %d events to send, %v; want 2", owner, len(w.Events), err)
			}
		}
		claim("a", true)
		toSend("a") // and settles nothing
		claim("a", false, e.ID)
		claim("b", false)
		l.Exec(t, "UPDATE tb_webhook_endpoint SET lease_until = ?", ledgertest.Stored(ledgertest.RecordedAt))
		claim("b", true)
		toSend("b")
		if _, err := l.EventsToSend(t.Context(), "a", e.ID, time.Minute, 1); !cmp.Equal(err != nil, true) {
			t.Error("a works without the lease")
		}
		if err := l.SettleEvents(t.Context(), "a", dispatch.Settled{EndpointID: e.ID, Next: 99}); err == nil {
			t.Error("a settles without the lease")
		}
		if err := l.ReleaseEndpoint(t.Context(), "a", e.ID); err != nil {
			t.Error(err)
		}
		claim("c", false)
		if err := l.ReleaseEndpoint(t.Context(), "b", e.ID); err != nil {
			t.Error(err)
		}
		claim("c", true)
		if got, err := l.Endpoint(t.Context(), e.ID); err != nil || got.Next != e.Next {
			t.Errorf("next number %d, %v; want %d", got.Next, err, e.Next)
		}
	})
}

// Events that wait for a number are counted too, while there is an endpoint that is enabled.
func TestEventsWithoutNumberWait(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 5)
		e := l.endpoint(t, 1)
		l.NewOrders(t, v, 3)
		l.Exec(t, "UPDATE tb_webhook_event SET create_time = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)))
		if b, err := l.Backlog(t.Context()); err != nil || b.Events != 3 || b.Oldest < time.Hour {
			t.Errorf("before they are numbered: %+v, %v", b, err)
		}
		l.numbered(t)
		if b, err := l.Backlog(t.Context()); err != nil || b.Events != 3 || b.Oldest < time.Hour {
			t.Errorf("afterwards: %+v, %v", b, err)
		}
		l.Exec(t, "UPDATE tb_webhook_event SET number = NULL")
		l.Exec(t, "UPDATE tb_webhook_endpoint SET disabled_time = ? WHERE id = ?",
			ledgertest.Stored(ledgertest.RecordedAt), e.ID)
		if b, err := l.Backlog(t.Context()); err != nil || b.Events != 0 || b.Oldest != 0 {
			t.Errorf("without an endpoint: %+v, %v", b, err)
		}
	})
}

// cleaned goes through all old events once, n at a time, and returns in how many steps.
func (l ledger) cleaned(tb testing.TB, n int) (steps int) {
	tb.Helper()
	var from webhook.Place
	for {
		done, err := l.Clean(tb.Context(), from, 7*24*time.Hour, 30*24*time.Hour, n)
		if err != nil {
			tb.Fatal(err)
		}
		steps++
		if from = done.To; done.All {
			return steps
		}
	}
}

// Old events are deleted when no enabled endpoint waits for them.
func TestOldEventsAreDeleted(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		e := l.endpoint(t, 1)
		cs := l.NewOrders(t, v, 5)
		l.numbered(t)
		old := ledgertest.RecordedAt.Add(-8 * 24 * time.Hour)
		text := ledgertest.Stored(old)
		if l.Dialect == "sqlite" {
			text = old.Format("2006-01-02 15:04:05.999-07:00") // as its driver writes it
		}
		l.Exec(t, "UPDATE tb_webhook_event SET create_time = ?", text)
		count := func() int64 { return l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event") }
		left := func(want int64) {
			t.Helper()
			before := count()
			if steps := l.cleaned(t, 2); int64(steps) != before/2+1 {
				t.Errorf("%d steps for %d events, two at a time", steps, before)
			}
			if n := count(); n != want {
				t.Errorf("%d events are left, want %d", n, want)
			}
		}
		left(5)
		l.Exec(t, "UPDATE tb_webhook_endpoint SET next_number = next_number + 5")
		l.Exec(t, "INSERT INTO tb_webhook_retry (endpoint_id, subject, number, attempts, due_time, failure) VALUES "+
			"(?, ?, 1, 1, ?, '{}')",
			e.ID, order.SubjectOfOrder(cs[0].OrderID), ledgertest.Stored(ledgertest.RecordedAt))
		l.Exec(t, "INSERT INTO tb_webhook_dead_letter (endpoint_id, number, attempts, failure, create_time) VALUES "+
			"(?, 2, 9, '{}', ?)", e.ID, ledgertest.Stored(ledgertest.RecordedAt))
		left(2)
		l.Exec(t, "UPDATE tb_webhook_endpoint SET disabled_time = ?", ledgertest.Stored(ledgertest.RecordedAt))
		left(1)
		l.Exec(t, "UPDATE tb_webhook_dead_letter SET create_time = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-31*24*time.Hour)))
		left(0)
	})
}

// Of events that are kept for longer than dead letters, none is looked at before its time.
func TestDeadLettersGoByThemselves(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.event(t, 1, "order-1", 1, "order.paid") // of yesterday
		l.numbered(t)
		for number := range 5 {
			l.Exec(t, "INSERT INTO tb_webhook_dead_letter (endpoint_id, number, attempts, failure, create_time) "+
				"VALUES (1, ?, 9, '{}', ?)", number+1, ledgertest.StartTime.Add(-24*time.Hour))
		}
		for _, want := range []webhook.Cleaned{{Deleted: 2}, {Deleted: 2}, {Deleted: 1, All: true}, {All: true}} {
			done, err := l.Clean(t.Context(), webhook.Place{}, 48*time.Hour, time.Hour, 2)
			if err != nil || done != want {
				t.Errorf("Clean = %+v, %v, want %+v", done, err, want)
			}
		}
	})
}

// Where nothing waits, with and without an endpoint, that is what is said.
func TestNothingWaits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for endpoints := range 2 {
			if b, err := l.Backlog(t.Context()); err != nil || b != (webhook.Backlog{Endpoints: b.Endpoints}) ||
				int(b.Endpoints) != endpoints {
				t.Errorf("%+v, %v", b, err)
			}
			l.endpoint(t, 1)
		}
	})
}

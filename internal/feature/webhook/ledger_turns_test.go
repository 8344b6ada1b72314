package webhook_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
)

// turnsTold returns the ids and types of the events of a sale's waiting list, in the order in which they are told.
func (l ledger) turnsTold(tb testing.TB) string {
	tb.Helper()
	rows, err := l.Raw.QueryContext(tb.Context(), "SELECT subject, subject_number, type "+
		"FROM tb_webhook_event WHERE number IS NOT NULL AND subject NOT LIKE 'order-%' ORDER BY number")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	var parts []string
	for rows.Next() {
		var e dispatch.Event
		if err := rows.Scan(&e.Subject, &e.SubjectNumber, &e.Type); err != nil {
			tb.Fatal(err)
		}
		parts = append(parts, e.ID()+" "+string(e.Type))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(parts, ", ")
}

func turn(voucherID, position, number int64, kind order.TurnKind) order.Turn {
	return order.Turn{
		ID: order.PlaceID{VoucherID: voucherID, Position: position}, Kind: kind, Number: number, UserID: 10 + position,
		At: ledgertest.RecordedAt, Joined: ledgertest.RecordedAt, Deadline: ledgertest.RecordedAt.Add(time.Minute),
	}
}

// What happens on a waiting list is told in its order, to endpoints of its shop, and only if it is committed.
func TestTurnsAreEvents(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 2, 1000)
		l.endpoint(t, 2)
		l.Turned(t, v, turn(v, 1, 1, order.TurnInvited))
		l.numbered(t)
		if got := l.turnsTold(t); got != "" {
			t.Errorf("another shop is told %s", got)
		}
		l.endpoint(t, 1)
		l.Turned(t, v, turn(v, 1, 2, order.TurnMissed), turn(v, 2, 1, order.TurnInvited))
		l.KeptSale(t, v, func(s sqlkit.KeptSale) error {
			return s.Turned([]order.Turn{turn(v, 2, 2, order.TurnAccepted), turn(v, 0, 7, order.TurnReleased)})
		})
		err := l.DB().Write(t.Context(), func(tx *gorm.DB) error {
			s, err := l.Features.KeptUnits(tx, v)
			if err == nil {
				err = s.Turned([]order.Turn{turn(v, 3, 1, order.TurnInvited)})
			}
			return errors.Join(err, errRolledBack)
		})
		if !errors.Is(err, errRolledBack) {
			t.Fatal(err)
		}
		l.numbered(t)
		want := fmt.Sprintf("place-%[1]d-1-2 waitlist.missed, place-%[1]d-2-1 waitlist.invited, "+
			"place-%[1]d-2-2 waitlist.accepted, sale-%[1]d-8 waitlist.released", v)
		if got := l.turnsTold(t); got != want {
			t.Errorf("told is\n%s, want\n%s", got, want)
		}
	})
}

var errRolledBack = errors.New("rolled back")

// An event whose subject is of a kind that this version does not write, such as a payment, is sent in its order,
// becomes a dead letter, and is sent again, as any other.
func TestSubjectsOfOtherKinds(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const id = "pay_01234567-89ab-cdef-0123-456789abcdef" // as long as they are
		const subject = order.Subject("payment-" + id)
		v := l.Seckill(t, 5)
		e := l.endpoint(t, 1)
		l.Receives(t, l.Pays(t, l.NewOrders(t, v, 1)[0]))
		l.Exec(t, "UPDATE tb_webhook_event SET subject = ?", subject)
		l.numbered(t)
		work := func() dispatch.Work {
			t.Helper()
			if _, ok, err := l.ClaimEndpoint(t.Context(), "me", nil, time.Minute); err != nil || !ok {
				t.Fatalf("ClaimEndpoint = %t, %v", ok, err)
			}
			w, err := l.EventsToSend(t.Context(), "me", e.ID, time.Minute, 10)
			if err != nil || len(w.Events) != 2 || w.Events[0].Subject != subject || w.Events[0].SubjectNumber != 1 ||
				w.Events[1].SubjectNumber != 2 || subject.Kind() != "payment" || subject.ID() != id {
				t.Fatalf("to be sent: %+v, %v", w, err)
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
		settle(dispatch.Settled{
			Next: w.Next, Dead: []dispatch.DeadLetter{{Number: w.Events[0].Number, Attempts: 9}},
			Behind: []dispatch.Moved{{Retry: dispatch.Retry{
				Subject: subject, Number: w.Events[1].Number, Attempts: 1, DueAt: w.Now,
			}}},
		})
		dead, _, err := l.DeadLetters(t.Context(), e.ID, math.MaxInt64, 10)
		if err != nil || len(dead) != 1 || dead[0].Event.ID() != "payment-"+id+"-1" {
			t.Errorf("dead letters %+v, %v", dead, err)
		}
		all, _, err := l.Deliveries(t.Context(), e.ID, math.MaxInt64, 10)
		if err != nil || len(all) != 2 || all[0].State != dispatch.Retrying || all[1].State != dispatch.Dead {
			t.Errorf("deliveries %+v, %v", all, err)
		}
		first := dispatch.EventID{Subject: subject, Number: 1}
		if err := l.ReplayEvent(t.Context(), e.ID, first, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		w = work()
		settle(dispatch.Settled{Next: w.Next, Done: w.Retries})
		from := ledgertest.RecordedAt.Add(-time.Hour)
		until := from.Add(48 * 365 * 24 * time.Hour)
		if n, err := l.ReplayTime(t.Context(), e.ID, from, until, ledgertest.Admin); err != nil || n != 2 {
			t.Fatalf("%d events of a time are sent again, %v", n, err)
		}
		work()
	})
}

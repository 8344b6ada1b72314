package webhook_test

import (
	"errors"
	"fmt"
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
			s, err := l.KeptUnits().Lock(tx, v)
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
			"place-%[1]d-2-2 waitlist.accepted, sale-%[1]d-7 waitlist.released", v)
		if got := l.turnsTold(t); got != want {
			t.Errorf("told is\n%s, want\n%s", got, want)
		}
	})
}

var errRolledBack = errors.New("rolled back")

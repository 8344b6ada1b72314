package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher/guards"
)

// cooling creates a sale with a cool-down.
func (l ledger) cooling(tb testing.TB, stock int64) int64 {
	tb.Helper()
	id := l.Seckill(tb, stock)
	s := &guards.Settings{CoolDown: &guards.CoolDown{Expired: 2, Minutes: 30, DryRun: true}}
	l.Exec(tb, "UPDATE tb_voucher SET guards = ? WHERE id = ?", s.Text(), id)
	return id
}

// unpaid reads all users with expired orders, in pages of two.
func (l ledger) unpaid(tb testing.TB, after guard.UnpaidCursor) ([]guard.Unpaid, guard.UnpaidCursor) {
	tb.Helper()
	var all []guard.Unpaid
	for {
		users, next, err := guard.NewLedger(l.DB()).UnpaidAfter(tb.Context(), after, 2)
		if err != nil {
			tb.Fatal(err)
		}
		all, after = append(all, users...), next
		if len(users) < 2 {
			return all, after
		}
	}
}

// Orders of sales with a cool-down count when they expire, each once, and instances read what is new.
func TestUnpaidIsCounted(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w, without, plain := l.cooling(t, 10), l.cooling(t, 10), l.Seckill(t, 10), l.Ordinary(t)
		first, second := l.NewOrders(t, v, 4), l.NewOrders(t, w, 2)
		others := append(l.NewOrders(t, without, 9), l.Bought(t, plain, 5))
		l.Transitioned(t, first[3], order.Cancel)
		l.Due(t, -time.Minute, first...)
		l.Due(t, -time.Minute, second[1])
		l.Due(t, -time.Minute, others...)
		if got := len(l.expires(t, 1, 50)); got != 14 {
			t.Fatalf("%d expired, want 14", got)
		}
		all, cursor := l.unpaid(t, guard.UnpaidCursor{})
		if diff := cmp.Diff([]guard.Unpaid{{UserID: 1, Expired: 1}, {UserID: 2, Expired: 2}, {UserID: 3, Expired: 1}},
			all); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
		l.Due(t, -time.Minute, second[0])
		l.expires(t, 2, 50)
		all, after := l.unpaid(t, cursor)
		if diff := cmp.Diff([]guard.Unpaid{{UserID: 1, Expired: 2}}, all); diff != "" || after.Number <= cursor.Number {
			t.Errorf("new at %+v after %+v (-want +got):\n%s", after, cursor, diff)
		}
		if again, still := l.unpaid(t, after); again != nil || still != after {
			t.Errorf("new once more: %v", again)
		}
	})
}

// A transaction that is superseded counts nothing, as it expires nothing.
func TestUnpaidIsCountedWithTheExpiryOnly(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		cs := l.NewOrders(t, l.cooling(t, 10), 2)
		l.Due(t, -time.Minute, cs[0])
		l.expires(t, 5, 1)
		l.Due(t, -time.Minute, cs[1])
		if _, err := l.ExpireDue(t.Context(), 4, 1); !errors.Is(err, order.ErrSuperseded) {
			t.Fatal(err)
		}
		if all, _ := l.unpaid(t, guard.UnpaidCursor{}); len(all) != 1 {
			t.Errorf("%v", all)
		}
	})
}

// A count begins anew after a week without another; who counts no longer is deleted when others are counted. Numbers
// rise though a clock was ahead.
func TestUnpaidIsForgotten(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		cs := l.NewOrders(t, l.cooling(t, 10), 2)
		ago := func(d time.Duration) any { return ledgertest.Stored(ledgertest.RecordedAt.Add(-d)) }
		const insert = "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, ?, ?, ?)"
		// Too new to be deleted: two orders look at four rows.
		l.Exec(t, insert, 1, 7, ago(guards.CoolDownMemory+time.Second), 5)
		l.Exec(t, insert, 2, 7, ago(guards.CoolDownMemory-time.Second), 4)
		for user := range 3 {
			l.Exec(t, insert, 100+user, 1, ago(guards.CoolDownMemory+time.Hour), 1+user)
		}
		ahead := ledgertest.RecordedAt.Add(time.Hour).UnixMilli()
		l.Exec(t, insert, 200, 1, ago(time.Minute), ahead)
		l.Due(t, -time.Minute, cs...)
		l.expires(t, 1, 50)
		all, cursor := l.unpaid(t, guard.UnpaidCursor{})
		want := []guard.Unpaid{
			{UserID: 200, Expired: 1, Age: time.Minute}, {UserID: 1, Expired: 1}, {UserID: 2, Expired: 8},
		}
		if diff := cmp.Diff(want, all); diff != "" || cursor.Number != ahead+1 {
			t.Errorf("number %d, want %d (-want +got):\n%s", cursor.Number, ahead+1, diff)
		}
	})
}

// More users than one statement takes.
func TestUnpaidOfMany(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		cs := l.NewOrders(t, l.cooling(t, 1200), 1200)
		l.Due(t, -time.Minute, cs...)
		l.expires(t, 1, 1200)
		if got := l.Number(t, "SELECT SUM(expired) FROM tb_unpaid"); got != 1200 {
			t.Errorf("%d are counted, want 1200", got)
		}
	})
}

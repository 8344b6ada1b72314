package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

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

// unpaidOf is a row of tb_unpaid, the time apart.
type unpaidOf struct{ user, expired, number int64 }

// unpaid reads the rows with a number above another, in the order of their numbers.
func (l ledger) unpaid(tb testing.TB, above int64) (all []unpaidOf) {
	tb.Helper()
	rows, err := l.Raw.QueryContext(tb.Context(),
		"SELECT user_id, expired, number FROM tb_unpaid WHERE number > ? ORDER BY number, user_id", above)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var u unpaidOf
		if err := rows.Scan(&u.user, &u.expired, &u.number); err != nil {
			tb.Fatal(err)
		}
		all = append(all, u)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// Orders of sales with a cool-down count when they expire, each once, and instances read what is new.
func TestUnpaidIsCounted(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w, without, plain := l.cooling(t, 10), l.cooling(t, 10), l.Seckill(t, 10), l.Ordinary(t)
		of, second := l.NewOrders(t, v, 4), l.NewOrders(t, w, 2)
		others := append(l.NewOrders(t, without, 9), l.Bought(t, plain, 5))
		l.Transitioned(t, of[3], order.Cancel)
		l.Due(t, -time.Minute, of...)
		l.Due(t, -time.Minute, second[1])
		l.Due(t, -time.Minute, others...)
		if got := len(l.expires(t, 1, 50)); got != 14 {
			t.Fatalf("%d expired, want 14", got)
		}
		all := l.unpaid(t, 0)
		if len(all) != 3 {
			t.Fatalf("counted %v", all)
		}
		first := all[0].number
		if want := []unpaidOf{{1, 1, first}, {2, 2, first}, {3, 1, first}}; !slices.Equal(want, all) {
			t.Errorf("counted %v, want %v", all, want)
		}
		l.Due(t, -time.Minute, second[0])
		l.expires(t, 2, 50)
		if all := l.unpaid(t, first); len(all) != 1 || all[0].user != 1 || all[0].expired != 2 {
			t.Errorf("counted %v after %d", all, first)
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
		if all := l.unpaid(t, 0); len(all) != 1 {
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
		want := []unpaidOf{{200, 1, ahead}, {1, 1, ahead + 1}, {2, 8, ahead + 1}}
		if all := l.unpaid(t, 0); !slices.Equal(want, all) {
			t.Errorf("counted %v, want %v", all, want)
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

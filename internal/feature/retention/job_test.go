package retention

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// nightly is a job that keeps orders for a day, on a clock of the test's.
type nightly struct {
	*rig
	*purger

	at       time.Time // the ledger's clock
	switched int
	refusal  error // of switching on
}

func newNightly(l ledgertest.Ledger) *nightly {
	n := &nightly{rig: newRig(l), at: ledgertest.RecordedAt.Add(48 * time.Hour)}
	n.purger = &purger{
		Purger: *n.rig.purger, keep: 24 * time.Hour, turn: time.Minute, midnight: l.DB().Midnight,
		now:      func(context.Context) time.Time { return n.at },
		switchOn: func(context.Context) error { n.switched++; return n.refusal },
		forget:   n.retention.ForgetEntries, log: slog.New(slog.DiscardHandler),
	}
	return n
}

// works lets the job work, under a token, until nothing is left, and returns how many batches that took.
func (n *nightly) works(t *testing.T, token int64) (batches int) {
	t.Helper()
	for items := 1; items > 0; batches++ {
		var err error
		if items, err = n.batch(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	return batches
}

func (n *nightly) count(t *testing.T, of string) int64 {
	t.Helper()
	return n.Number(t, "SELECT COUNT(*) FROM "+of)
}

// The job purges what is old once a day, by the ledger's clock, and asks before the first deletion alone whether it
// may.
func TestJob(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		n.works(t, 1)
		if n.switched != 0 {
			t.Error("it has switched on, and there was nothing to purge")
		}
		n.round = time.Time{}
		id, refused := n.sold(t), n.Seckill(t, 5)
		n.Over(t, refused) // and not retired
		n.refusal = order.ErrUpgrading
		if _, err := n.batch(t.Context(), 1); !errors.Is(err, order.ErrUpgrading) || n.count(t, "tb_purge") != 0 {
			t.Fatalf("beside a 1.0: %v", err)
		}
		n.refusal = nil
		n.works(t, 2)
		if left := n.left(t, id); len(left) > 0 || n.switched != 2 || n.count(t, "tb_purge") != 1 {
			t.Errorf("left %v, switched on %d times", left, n.switched)
		}
		n.RetireSale(t, refused)
		if n.works(t, 2); n.count(t, "tb_purge") != 1 {
			t.Error("it has looked twice on one day")
		}
		n.at = n.at.Add(24 * time.Hour)
		if n.works(t, 2); n.count(t, "tb_purge WHERE end_time IS NOT NULL") != 2 {
			t.Error("it has not looked on the next day")
		}
		n.sold(t)
		n.round = time.Time{}
		if _, err := n.batch(t.Context(), 1); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("with the token of an earlier holder: %v", err)
		}
		n.at = time.Time{}
		if _, err := n.batch(t.Context(), 2); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("without the ledger's clock: %v", err)
		}
	})
}

// A turn that ends is continued by the next where it stood, even behind orders that stay, and then the next voucher has
// its turn. An ordinary voucher has one entry in the audit trail for each time that its old orders began to go.
func TestJobTakesTurns(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		n.purger.Ledger, n.turn = inSteps{n.retention, 2}, 0
		free := n.Ordinary(t)
		for user := range int64(6) {
			c := n.Bought(t, free, user+1)
			n.Receives(t, n.Pays(t, c))
			if user < 4 {
				n.Exec(t, "UPDATE tb_payment SET state = 6, stuck_time = create_time WHERE order_id = ?", c.OrderID)
			}
		}
		id := n.sold(t)
		n.Exec(t, "INSERT INTO tb_purge (voucher_id, figures, waitlist, create_time) VALUES (?, '{}', '', ?)", free,
			ledgertest.Stored(ledgertest.RecordedAt)) // it has begun
		want := n.sums(t, free)
		if batches := n.works(t, 1); batches > 30 {
			t.Errorf("%d batches", batches)
		}
		orders := n.count(t, "tb_voucher_order")
		if diff := cmp.Diff(want, n.sums(t, free)); orders != 4 || len(n.left(t, id)) > 0 && diff != "" {
			t.Errorf("%d orders are left, and of the sale %v\n%s", orders, n.left(t, id), diff)
		}
		entries := "tb_audit WHERE action = 'purge' AND voucher_id <> " + digits(id)
		if k := n.count(t, entries); k != 0 || n.count(t, "tb_purge WHERE end_time IS NULL") != 1 {
			t.Errorf("%d entries for a purge that goes on", k)
		}
		n.Exec(t, "UPDATE tb_payment SET state = 2, stuck_time = NULL WHERE state = 6")
		for day := range 3 {
			n.at = n.at.Add(24 * time.Hour)
			n.works(t, 1)
			if k := n.count(t, entries); k != int64(min(day, 1)) {
				t.Errorf("day %d: %d entries", day, k)
			}
			if day == 0 {
				n.Bought(t, free, 50)
				n.Exec(t, "UPDATE tb_voucher_order SET status = 4 WHERE status = 1")
			}
		}
		if k := n.count(t, "tb_voucher_order WHERE voucher_id = "+digits(free)); k != 0 {
			t.Errorf("%d orders are left", k)
		}
	})
}

// A voucher that cannot be purged keeps no other from its turn; it is tried again on another day. What ends the purge
// of all does not count as its failure.
func TestJobGoesOnBehindAFailure(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		bad := n.sold(t)
		for _, table := range []string{"tb_webhook_event", "tb_webhook_dead_letter", "tb_coupon", "tb_refund"} {
			n.Exec(t, "DELETE FROM "+table)
		}
		good := n.sold(t)
		n.Exec(t, "INSERT INTO tb_purge (voucher_id, figures, waitlist, create_time) VALUES (?, 'nonsense', '', ?)",
			bad, ledgertest.Stored(ledgertest.RecordedAt))
		n.works(t, 1)
		orders := func(id int64) int64 { return n.count(t, "tb_voucher_order WHERE voucher_id = "+digits(id)) }
		if orders(bad) != 12 || orders(good) != 0 {
			t.Errorf("%d and %d orders are left", orders(bad), orders(good))
		}
		n.Exec(t, "UPDATE tb_purge SET figures = '{}' WHERE voucher_id = ?", bad)
		n.at = n.at.Add(24 * time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.batch(ctx, 1); err == nil || n.after != 0 {
			t.Errorf("given up: %v, behind voucher %d", err, n.after)
		}
		if n.works(t, 1); orders(bad) != 0 {
			t.Errorf("%d orders are left", orders(bad))
		}
	})
}

// A voucher whose questions the ledger does not answer in time keeps no other from its turn, while the ledger answers
// others; while it answers none, none is passed over.
func TestJobGoesOnBehindASlowQuestion(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		slow := n.sold(t)
		for _, table := range []string{"tb_webhook_event", "tb_webhook_dead_letter", "tb_coupon", "tb_refund"} {
			n.Exec(t, "DELETE FROM "+table)
		}
		quick := n.sold(t)
		n.purger.Ledger = slowly{n.retention, slow}
		n.Answers = func(context.Context) bool { return false }
		if _, err := n.batch(t.Context(), 1); !errors.Is(err, order.ErrUnavailable) || n.after != 0 {
			t.Errorf("the ledger is away: %v, behind voucher %d", err, n.after)
		}
		n.Answers = n.retention.answers
		n.works(t, 1)
		orders := func(id int64) int64 { return n.count(t, "tb_voucher_order WHERE voucher_id = "+digits(id)) }
		if orders(slow) != 12 || orders(quick) != 0 {
			t.Errorf("%d and %d orders are left", orders(slow), orders(quick))
		}
	})
}

// A preview names the voucher that the ledger does not answer for in time, and goes on.
func TestPreviewGoesOnBehindASlowQuestion(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		slow := n.sold(t)
		for _, table := range []string{"tb_webhook_event", "tb_webhook_dead_letter", "tb_coupon", "tb_refund"} {
			n.Exec(t, "DELETE FROM "+table)
		}
		quick := n.sold(t)
		n.purger.Ledger = slowly{n.retention, slow}
		var out strings.Builder
		err := preview(t.Context(), &out, &n.Purger, before())
		lines := strings.Split(out.String(), "\n")
		if !errors.Is(err, order.ErrUnavailable) || len(lines) != 4 ||
			!strings.HasPrefix(lines[1], digits(slow)+" ") || !strings.Contains(lines[1], "failed: ") ||
			!strings.HasPrefix(lines[2], digits(quick)+" ") || !strings.Contains(lines[2], " 12 ") {
			t.Errorf("%v:\n%s", err, &out)
		}
		n.Answers = func(context.Context) bool { return false }
		out.Reset()
		err = preview(t.Context(), &out, &n.Purger, before())
		if !errors.Is(err, order.ErrUnavailable) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("the ledger is away: %v:\n%s", err, &out)
		}
	})
}

// Events are not counted to the end.
func TestDebtsSaySo(t *testing.T) {
	t.Parallel()
	got := Debts{Event: mostEvents, Coupon: 20_000}.String()
	if !strings.Contains(got, "at least 10000 event (") || !strings.Contains(got, "20000 coupon (") {
		t.Error(got)
	}
}

// slowly does not answer what one voucher owes.
type slowly struct {
	*Ledger

	voucherID int64
}

func (s slowly) Debts(ctx context.Context, c Candidate) (Debts, error) {
	if c.VoucherID == s.voucherID {
		return nil, order.ErrUnavailable
	}
	return s.Ledger.Debts(ctx, c)
}

// inSteps lets each turn make one step of a few rows.
type inSteps struct {
	*Ledger

	n int
}

func (s inSteps) Delete(ctx context.Context, c Candidate, token int64, from Cursor, _ int) (Deleted, error) {
	return s.Ledger.Delete(ctx, c, token, from, s.n)
}

// Old entries of the audit trail go, oldest first; those that are young stay, whatever SECKILL_KEEP says.
func TestForgetEntries(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		n := newNightly(l)
		n.keep, n.trail = 0, 24*time.Hour
		for range 3 {
			n.Seckill(t, 5)
		}
		young := n.Number(t, "SELECT MAX(id) FROM tb_audit")
		n.Exec(t, "UPDATE tb_audit SET create_time = ? WHERE id < ?",
			ledgertest.Stored(n.at.Add(-24*time.Hour-time.Millisecond)), young)
		n.Exec(t, "UPDATE tb_audit SET create_time = ? WHERE id = ?", ledgertest.Stored(n.at.Add(-24*time.Hour)), young)
		if n.count(t, "tb_audit") != 3 {
			t.Fatal("no entries")
		}
		if gone, err := n.retention.ForgetEntries(t.Context(), 4, n.at.Add(-24*time.Hour), 1); gone != 1 || err != nil {
			t.Errorf("%d entries, %v", gone, err)
		}
		if n.works(t, 4); n.count(t, "tb_audit") != 1 || n.Number(t, "SELECT id FROM tb_audit") != young {
			t.Errorf("%d entries are left", n.count(t, "tb_audit"))
		}
		if _, err := n.batch(t.Context(), 3); !errors.Is(err, order.ErrSuperseded) || n.switched != 0 {
			t.Errorf("with the token of an earlier holder: %v", err)
		}
	})
}

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// spy is a hook that keeps a row for each change in the transaction of the change, under a key that no second one can
// have.
type spy struct {
	t    *testing.T
	seen map[int64][]string // by order
}

// spies has a spy run in the ledger.
func (l ledger) spies(t *testing.T) *spy {
	t.Helper()
	s := &spy{t: t, seen: map[int64][]string{}}
	l.Use(sqlkit.Hook{Feature: "silent"}, sqlkit.Hook{Feature: "spy", Changed: s.changed})
	return s
}

func setting(name string) *sqlkit.SettingRow {
	return &sqlkit.SettingRow{Name: name, Value: []byte{1}, CreateTime: ledgertest.RecordedAt}
}

func (s *spy) keep(tx *gorm.DB, of int64, what string) error {
	s.seen[of] = append(s.seen[of], what)
	did, _, _ := strings.Cut(what, " ")
	return tx.Create(setting(fmt.Sprintf("spy %d %s", of, did))).Error
}

func (s *spy) changed(tx *gorm.DB, changes []order.Change) error {
	if !slices.IsSortedFunc(changes, func(a, b order.Change) int { return int(a.Order.ID - b.Order.ID) }) {
		s.t.Errorf("not sorted: %+v", changes)
	}
	for _, c := range changes {
		var status []order.Status
		err := tx.Table("tb_voucher_order").Where("id = ?", c.Order.ID).Pluck("status", &status).Error
		if err != nil || !slices.Equal(status, []order.Status{c.Order.Status}) || c.Terms.ShopID != 1 || c.At.IsZero() {
			s.t.Errorf("in the transaction: %v, %v; change %+v", status, err, c)
		}
		did := c.Action.String()
		if c.Recorded {
			did = "record"
		}
		what := strings.TrimSpace(fmt.Sprintf("%s: %s by %s %s", did, c.Order.Status, c.By, c.Why))
		if err := s.keep(tx, c.Order.ID, what); err != nil {
			return err
		}
	}
	return nil
}

// saw fails unless the hook has seen that, and its rows were committed.
func (s *spy) saw(l ledger, want map[int64][]string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.seen); diff != "" {
		s.t.Errorf("changes (-want +got):\n%s", diff)
	}
	all := 0
	for _, what := range s.seen {
		all += len(what)
	}
	if n := l.Number(s.t, "SELECT COUNT(*) FROM tb_setting WHERE name LIKE 'spy %'"); n != int64(all) {
		s.t.Errorf("%d rows of %d changes", n, all)
	}
}

// A hook sees each change of each order once, in the transaction of the change.
func TestHookSeesEachChangeOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, plain := l.Seckill(t, 20), l.Ordinary(t)
		s := l.spies(t)
		const unpaid, paid = "record: unpaid by recorder", "pay: paid by payment provider"
		want := map[int64][]string{}

		cs := l.Paid(t, v, 3)
		l.Transitioned(t, cs[0], order.Redeem)
		want[cs[0].OrderID] = []string{unpaid, paid, "redeem: redeemed by owner"}
		if _, err := l.AskRefund(t.Context(), cs[1].UserID, cs[1].OrderID); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("pay_%d", cs[1].OrderID)
		if _, err := l.Refunded(t.Context(), id, id, ""); err != nil {
			t.Fatal(err)
		}
		want[cs[1].OrderID] = []string{
			unpaid, paid, "refund: refunding by owner", "confirm refund: refunded by payment provider MONEY_BACK",
		}
		l.Transitioned(t, cs[2], order.Lapse)
		want[cs[2].OrderID] = []string{unpaid, paid, "lapse: lapsed by owner"}

		late := l.late(t, v, 100)
		l.ApplyAll(t, v)
		want[late.OrderID] = []string{
			unpaid, "cancel: cancelled by owner", "revive: paid by payments UNIT_FOR_LATE_PAYMENT",
		}
		due := ledgertest.Claims(v, 300, 2)
		l.Record(t, due)
		l.Due(t, 0, due...)
		l.expires(t, 1, 10)
		for _, c := range due {
			want[c.OrderID] = []string{unpaid, "expire: cancelled by expirer NOT_PAID_IN_TIME"}
		}
		settled := ledgertest.Claims(v, 400, 1)
		if err := l.Settle(t.Context(), settled, ledgertest.DecideAll(settled, order.Insert, "")); err != nil {
			t.Fatal(err)
		}
		want[settled[0].OrderID] = []string{unpaid}
		l.failed(t, order.Claim{OrderID: 9001, UserID: 9, VoucherID: v}, 9001, reason.NoStock)
		want[9001] = []string{"record: failed by recorder"}

		bought := l.Bought(t, plain, 7)
		want[bought.OrderID] = []string{"record: unpaid by owner"}
		s.saw(l, want)
	})
}

// The error of a hook leaves nothing behind, and says nothing about the orders: a duplicate key, a value that the
// database rejects and the domain's own errors of a feature's are only reasons to try again.
func TestHookErrorRollsBack(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		old := l.NewOrders(t, v, 1)[0]
		s := l.spies(t)
		duplicate := func(tx *gorm.DB) error { return tx.Create(setting("order_id_key")).Error }
		if _, err := l.IDKey(t.Context()); err != nil { // the row is there
			t.Fatal(err)
		}
		rejected := func(tx *gorm.DB) error {
			return tx.Exec("INSERT INTO tb_setting (name, value, create_time) VALUES ('x', NULL, ?)",
				ledgertest.RecordedAt).Error
		}
		var breaks func(tx *gorm.DB) error
		l.Use(sqlkit.Hook{Feature: "breaks", Changed: func(tx *gorm.DB, _ []order.Change) error { return breaks(tx) }})
		for name, how := range map[string]func(tx *gorm.DB) error{
			"duplicate": duplicate, "rejected": rejected,
			"not found": func(*gorm.DB) error { return order.ErrNotFound },
			"conflict":  func(*gorm.DB) error { return order.ErrConflict },
		} {
			breaks = how
			before := l.Number(t, "SELECT COUNT(*) FROM tb_order_event")
			_, changed := l.Transition(t.Context(), old.OrderID, 0, order.Cancel, order.Owner)
			fresh := ledgertest.Claims(v, 100, 1)
			for what, err := range map[string]error{
				"Insert": l.Insert(t.Context(), fresh), "Transition": changed,
				"Settle": l.Settle(t.Context(), fresh, ledgertest.DecideAll(fresh, order.Insert, "")),
			} {
				if err == nil || errors.Is(err, order.ErrConflict) || errors.Is(err, order.ErrRejected) ||
					errors.Is(err, order.ErrNotFound) || sqlkit.IsDuplicate(err) || sqlkit.IsRejected(err) ||
					!strings.Contains(err.Error(), "hook of breaks: ") {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			is, sale := l.ReadOrder(t, old.OrderID), l.Sale(t, v)
			if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 1 || is.Status != order.Unpaid ||
				sale.Stock != 19 ||
				l.Number(t, "SELECT COUNT(*) FROM tb_order_event") != before ||
				l.Number(t, "SELECT COUNT(*) FROM tb_setting WHERE name LIKE 'spy %'") != 0 {
				t.Errorf("%s: %d orders, the old one %+v, the sale %+v", name, n, is, sale)
			}
		}
		if len(s.seen) == 0 {
			t.Error("the hook before saw nothing")
		}
	})
}

// That the database is busy stays to be seen in a hook's error: the transaction is repeated, and goes through.
func TestHookErrorIsRetried(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	c := l.NewOrders(t, l.Seckill(t, 20), 1)[0]
	tries := 0
	l.Use(sqlkit.Hook{Feature: "busy", Changed: func(tx *gorm.DB, _ []order.Change) error {
		if tries++; tries > 1 {
			return nil
		}
		return tx.Exec("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'deadlock'").Error
	}})
	l.Transitioned(t, c, order.Cancel)
	if got := l.ReadHistory(t, c.OrderID); tries != 2 || strings.Count(got, "cancelled") != 1 {
		t.Errorf("%d tries, history %s", tries, got)
	}
}

// Orders that nobody wants are not read, and hooks are asked once for each voucher and state.
func TestUnwantedOrdersCostNothing(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		l.NewOrders(t, v, 1) // the terms are known
		var queries, asked int
		err := l.DB().Read(t.Context()).Callback().Query().Register("count", func(*gorm.DB) { queries++ })
		if err != nil {
			t.Fatal(err)
		}
		wants := false
		l.Use(sqlkit.Hook{
			Feature: "wants",
			Wants:   func(order.Terms, order.Status) bool { asked++; return wants },
			Changed: func(*gorm.DB, []order.Change) error { return nil },
		})
		for i, c := range []struct {
			wants          bool
			queries, asked int
		}{{false, 0, 1}, {true, 1, 2}} {
			queries, asked, wants = 0, 0, c.wants
			l.Record(t, ledgertest.Claims(v, int64(100*(i+1)), 3))
			if queries != c.queries || asked != c.asked {
				t.Errorf("wanted %t: %d queries, asked %d times; want %d and %d", c.wants, queries, asked,
					c.queries, c.asked)
			}
		}
	})
}

// Only an owner who cancels, or asks for the money back, is asked about, and gets the hook's error as it is.
func TestHookAnswersOwners(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		cs := l.NewOrders(t, v, 4)
		var asked []order.Change
		why := errors.New("not now")
		l.Use(sqlkit.Hook{Feature: "may", May: func(_ *gorm.DB, c order.Change) error {
			asked = append(asked, c)
			return &order.NotNowError{Why: why}
		}})
		l.Receives(t, l.Pays(t, cs[0]))
		_, refund := l.AskRefund(t.Context(), cs[0].UserID, cs[0].OrderID)
		_, cancel := l.Transition(t.Context(), cs[1].OrderID, 0, order.Cancel, order.Owner)
		_, other := l.Transition(t.Context(), cs[2].OrderID, 0, order.Cancel, order.ByService)
		if !errors.Is(refund, why) || !errors.Is(cancel, why) || other != nil {
			t.Errorf("refund %v, cancel %v, the service's %v", refund, cancel, other)
		}
		if len(asked) != 2 || asked[0].Action != order.RequestRefund || asked[0].Order.Status != order.Paid ||
			asked[1].Action != order.Cancel || asked[1].Order.ID != cs[1].OrderID || asked[1].By != order.Owner ||
			asked[1].Terms.ShopID != 1 {
			t.Errorf("asked about %+v", asked)
		}
	})
}

// What a hook prepares is prepared before the transaction, whose end its error is.
func TestHookPrepares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		var steps []string
		refusal := error(nil)
		l.Use(sqlkit.Hook{
			Feature: "prepares",
			Prepare: func(context.Context, *gorm.DB) error { steps = append(steps, "prepare"); return refusal },
			Changed: func(*gorm.DB, []order.Change) error { steps = append(steps, "changed"); return nil },
		})
		l.Record(t, ledgertest.Claims(v, 1, 1))
		refusal = order.ErrRejected
		err := l.Insert(t.Context(), ledgertest.Claims(v, 2, 1))
		if got := strings.Join(steps, " "); got != "prepare changed prepare" || err == nil ||
			errors.Is(err, order.ErrRejected) {
			t.Errorf("%s; %v", got, err)
		}
	})
}

// A hook gets the created voucher. If it fails, no voucher is created.
func TestHookSeesCreatedVouchers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var seen voucher.Voucher
		var by voucher.Author
		refusal := error(nil)
		l.Use(sqlkit.Hook{}, sqlkit.Hook{Created: func(_ *gorm.DB, v voucher.Voucher, author voucher.Author) error {
			seen, by = v, author
			return refusal
		}})
		v := ledgertest.Draft()
		v.Kind, v.Rehearses = voucher.Seckill, 3
		v.Sale = &voucher.Sale{Stock: 7, Issued: 7, Begin: ledgertest.RecordedAt, End: ledgertest.PayBefore}
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil || seen.ID != v.ID ||
			seen.Rehearses != 3 || seen.Sale == nil || seen.Sale.Issued != 7 || by != ledgertest.Admin {
			t.Errorf("saw %+v by %+v; %v", seen, by, err)
		}
		refusal = errors.New("no")
		if err := l.CreateVoucher(t.Context(), new(ledgertest.Draft()), ledgertest.Admin); err == nil ||
			!strings.HasSuffix(err.Error(), "no") {
			t.Errorf("refused: %v", err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher"); n != 1 {
			t.Errorf("%d vouchers, want the one that was not refused", n)
		}
	})
}

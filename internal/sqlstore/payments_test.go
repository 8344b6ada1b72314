package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func TestOpenPayment(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		cs := l.NewOrders(t, v, 2)
		want := payment.Payment{
			ID: "pay_1", OrderID: cs[0].OrderID, UserID: cs[0].UserID, VoucherID: v, ShopID: 1, Amount: 1000,
			State: payment.Open, CreatedAt: ledgertest.RecordedAt,
		}
		for _, id := range []string{"pay_1", "pay_2"} { // the second finds the first
			got, err := l.OpenPayment(t.Context(), cs[0].UserID, cs[0].OrderID, id, []string{""})
			got.Number = 0
			want := payment.Beginning{
				Payment: want, Currency: got.Currency, Quantity: 1, PayBefore: l.ReadOrder(t, cs[0].OrderID).PayBefore,
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		for owner, id := range map[int64]int64{cs[0].UserID: cs[1].OrderID, cs[1].UserID: 4711} {
			_, err := l.OpenPayment(t.Context(), owner, id, "pay_3", []string{""})
			if !errors.Is(err, order.ErrNotFound) {
				t.Errorf("order %d for user %d: %v, want ErrNotFound", id, owner, err)
			}
		}
		if _, err := l.OpenPayment(t.Context(), cs[1].UserID, cs[1].OrderID, "pay_1", []string{""}); err == nil {
			t.Error("two payments with one id")
		}
		_, err := l.OpenPayment(t.Context(), cs[1].UserID, cs[1].OrderID, "pay_5", nil)
		if !errors.Is(err, payment.ErrNoProvider) {
			t.Errorf("without a provider: %v", err)
		}
		l.Transitioned(t, cs[1], order.Cancel)
		if _, err := l.OpenPayment(t.Context(), cs[1].UserID, cs[1].OrderID, "pay_4",
			nil); !ledgertest.InState(err, order.Cancelled) {
			t.Errorf("a cancelled order: %v, want a StateError", err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_payment"); n != 1 {
			t.Errorf("%d payments, want 1", n)
		}
	})
}

// A payment keeps its provider, whose reference is the notice's, and no other provider finds it.
func TestPaymentProviders(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		c := l.NewOrders(t, l.Seckill(t, 10), 1)[0]
		open := func(id string, providers ...string) payment.Payment {
			t.Helper()
			p, err := l.OpenPayment(t.Context(), c.UserID, c.OrderID, id, providers)
			if err != nil {
				t.Fatal(err)
			}
			return p.Payment
		}
		if p := open("pay_1", "bank", "other"); p.Provider != "bank" || p.Reference != "" {
			t.Errorf("opened %+v", p)
		}
		if p := open("pay_2", "other", "bank"); p.ID != "pay_1" {
			t.Errorf("a second one %+v, while the first goes on", p)
		}
		if p := open("pay_3", "other"); p.ID != "pay_3" || p.Provider != "other" {
			t.Errorf("%+v, while the first one's provider is gone", p)
		}
		for _, reference := range []string{"r-1", "r-2"} {
			if err := l.Begun(t.Context(), "pay_1", reference); err != nil {
				t.Fatal(err)
			}
		}
		for _, provider := range []string{"", "other"} {
			_, _, err := l.Receive(t.Context(), payment.Notice{PaymentID: "pay_1", Amount: 1000, Provider: provider})
			if !errors.Is(err, payment.ErrNotFound) {
				t.Errorf("received by %q: %v, want ErrNoPayment", provider, err)
			}
		}
		for _, reference := range []string{"r-3", "r-4"} { // repeated by the provider: the first one counts
			if _, _, err := l.Receive(t.Context(),
				payment.Notice{PaymentID: "pay_1", Amount: 1000, Provider: "bank", Reference: reference}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Begun(t.Context(), "pay_1", "r-5"); err != nil { // a slow Begin
			t.Fatal(err)
		}
		got, err := l.PaymentsOf(t.Context(), c.OrderID)
		if err != nil || len(got) != 2 || got[0].ID != "pay_1" || got[0].Reference != "r-3" ||
			got[0].State != payment.Received || got[1].ID != "pay_3" {
			t.Errorf("%+v, %v", got, err)
		}
		// Of a version that knew one provider only.
		l.Exec(t, "UPDATE tb_payment SET provider = '' WHERE id = 'pay_3'")
		p, _, err := l.Receive(t.Context(), payment.Notice{PaymentID: "pay_3", Amount: 1000, Provider: "bank"})
		if err != nil || p.State != payment.Refunding {
			t.Errorf("the other one's money: %+v, %v; want it back", p, err)
		}
	})
}

// What the money is for that arrives for an order in each state.
func TestReceive(t *testing.T) {
	const (
		arrived  = "cancelled by payment provider: PAID_LATE"
		unneeded = "%s by payment provider: PAID_TWICE"
	)
	eachDialect(t, func(t *testing.T, l ledger) {
		v, gone, plain := l.Seckill(t, 100), l.Seckill(t, 1), l.Ordinary(t)
		retired := l.NewOrders(t, gone, 1)[0]
		full, other := l.Limited(t, 1), l.Limited(t, 2)
		live := l.NewOrders(t, v, 7)
		tests := map[string]struct {
			claim   order.Claim
			from    order.Status
			status  order.Status
			payment payment.State
			history string
			ops     int
		}{
			"unpaid": {live[0], order.Unpaid, order.Paid, payment.Received, "paid by payment provider: ", 0},
			"paid":   {live[1], order.Paid, order.Paid, payment.Refunding, fmt.Sprintf(unneeded, "paid"), 0},
			"redeemed": {
				live[2], order.Redeemed, order.Redeemed, payment.Refunding, fmt.Sprintf(unneeded, "redeemed"), 0,
			},
			"cancelled": {live[3], order.Cancelled, order.Cancelled, payment.Late, arrived, 1},
			"refunding": {
				live[4], order.Refunding, order.Refunding, payment.Refunding,
				fmt.Sprintf(unneeded, "refunding"), 0,
			},
			"refunded": {
				live[5], order.Refunded, order.Refunded, payment.Refunding, fmt.Sprintf(unneeded, "refunded"), 0,
			},
			"failed": {live[6], order.Failed, order.Failed, payment.Refunding, fmt.Sprintf(unneeded, "failed"), 0},
			"cancelled, of a retired sale": {
				retired, order.Cancelled, order.Cancelled, payment.Refunding,
				arrived + "\ncancelled by payments: SALE_OVER", 0,
			},
			"ordinary": {
				l.Bought(t, plain, 1), order.Unpaid, order.Paid, payment.Received, "paid by payment provider: ", 0,
			},
			"cancelled, ordinary": {
				l.Bought(t, plain, 2), order.Cancelled, order.Paid, payment.Received,
				arrived + "\npaid by payments: NO_LIMIT", 0,
			},
			"cancelled, and the buyer has bought another": {
				l.replaced(t, full, 3), order.Cancelled, order.Cancelled, payment.Refunding,
				arrived + "\ncancelled by payments: BUYER_AT_LIMIT", 0,
			},
			"cancelled, and the buyer has bought another, and may have two": {
				l.replaced(t, other, 3), order.Cancelled, order.Paid, payment.Received,
				arrived + "\npaid by payments: BUYER_BELOW_LIMIT", 0,
			},
		}
		l.RetireSale(t, gone)
		for name, test := range tests {
			p := l.Pays(t, test.claim)
			l.Force(t, test.from, test.claim.OrderID)
			before := len(l.ReadPending(t, v))
			for range 2 {
				got, o := l.Receives(t, p)
				want := p
				want.Number, want.State, want.ReceivedAt = got.Number, test.payment, ledgertest.RecordedAt
				if test.payment == payment.Refunding {
					want.RefundingAt = ledgertest.RecordedAt
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: payment (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(l.ReadOrder(t, test.claim.OrderID), o); diff != "" || o.Status != test.status {
					t.Errorf("%s: %+v (-read +got):\n%s", name, o, diff)
				}
				if test.status == order.Paid && test.from != order.Paid && !o.PaidAt.Equal(ledgertest.RecordedAt) {
					t.Errorf("%s: paid at %v", name, o.PaidAt)
				}
				if got := l.ReadHistory(t, test.claim.OrderID); got != test.history {
					t.Errorf("%s: history\n%s", name, got)
				}
				ops := l.ReadPending(t, v)
				if len(ops) != before+test.ops {
					t.Fatalf("%s: operations %v", name, ops)
				}
				if test.ops == 0 {
					continue
				}
				revival := operation.Operation{
					VoucherID: v, Number: 1, Kind: operation.Revival, Delta: -1, OrderID: test.claim.OrderID,
					UserID: test.claim.UserID,
				}
				if diff := cmp.Diff(revival, ops[0]); diff != "" || l.Sale(t, v).Stock != 93 {
					t.Errorf("%s: stock %d, operation (-want +got):\n%s", name, l.Sale(t, v).Stock, diff)
				}
			}
		}
		// What changes nothing in a row is nothing that another node of a Galera cluster could be in the way of.
		if n := l.Number(t, "SELECT writes FROM tb_limited_buyer WHERE voucher_id = ?", other); n != 3 {
			t.Errorf("two purchases and a late payment changed the row of their buyer %d times, want 3", n)
		}
	})
}

// Once the date of a voucher's coupons has passed nobody buys it or begins to pay, and money that comes then goes back:
// at once, or when Redis has given a unit meanwhile.
func TestMoneyPastTheDate(t *testing.T) {
	t.Parallel()
	l := ledger{ledgertest.OpenSQLite(t, ledgertest.MigratedSQLite(t))} // whose clock can be moved
	create := func(kind voucher.Kind) int64 {
		t.Helper()
		v := ledgertest.Draft()
		v.Kind = kind
		v.Redemption = voucher.Redemption{ByCode: true, ValidUntil: ledgertest.RecordedAt.Add(2 * time.Hour)}
		if kind == voucher.Seckill {
			v.Sale = &voucher.Sale{
				Stock: 9, Issued: 9, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
			}
		}
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	plain, sold := create(voucher.Ordinary), create(voucher.Seckill)
	if _, err := l.RaiseEpoch(t.Context(), sold, 0, order.SaleView{}); err != nil {
		t.Fatal(err)
	}
	cs := append(l.NewOrders(t, sold, 3), l.Bought(t, plain, 7), l.Bought(t, plain, 8))
	late, wants := []int{1, 2, 4}, []order.Status{
		order.Unpaid, order.Cancelled, order.Refunding, order.Unpaid, order.Cancelled,
	}
	ps := make([]payment.Payment, len(cs))
	for i, c := range cs {
		if ps[i] = l.Pays(t, c); slices.Contains(late, i) {
			l.Transitioned(t, c, order.Expire)
		}
	}
	l.ApplyAll(t, sold)
	l.Receives(t, ps[2]) // in time for the date; Redis decides after it
	l.Clock.Add(int64(2 * time.Hour))
	for i, p := range ps {
		if i != 2 {
			l.Receives(t, p)
		}
	}
	l.ApplyAll(t, sold)
	for i, want := range wants {
		l.isAs(t, fmt.Sprint(i), ps[i].ID, payment.Refunding, cs[i], want)
	}
	for _, c := range []order.Claim{cs[0], cs[3]} {
		_, err := l.OpenPayment(t.Context(), c.UserID, c.OrderID, "pay_new", []string{"bank"})
		if !ledgertest.InState(err, order.Lapsed) {
			t.Errorf("begins to pay: %v", err)
		}
	}
	_, err := l.RecordDirectSale(t.Context(), 12345, 9, plain, idempotency.Key{})
	if !errors.Is(err, voucher.ErrOffShelf) {
		t.Errorf("buys: %v", err)
	}
	l.confirmAll(t)
	l.ApplyAll(t, sold)
	l.Conserved(t, sold)
}

func TestReceiveRefuses(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		p := l.Pays(t, l.NewOrders(t, l.Seckill(t, 1), 1)[0])
		for notice, want := range map[payment.Notice]error{
			{PaymentID: p.ID, Amount: p.Amount - 1}:                     payment.ErrWrongAmount,
			{PaymentID: p.ID}:                                           payment.ErrWrongAmount,
			{PaymentID: "pay_", Amount: p.Amount, Provider: p.Provider}: payment.ErrNotFound,
		} {
			if _, _, err := l.Receive(t.Context(), notice); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", notice, err, want)
			}
		}
		if got := l.ReadPayment(t, p.ID); got != payment.Open || l.ReadOrder(t, p.OrderID).Status != order.Unpaid {
			t.Errorf("the payment is %s", got)
		}
	})
}

// The provider notifies twice at once, and while the order expires. The money is used once or goes back once.
func TestReceiveAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const n = 20
		v := l.Seckill(t, n)
		cs := l.NewOrders(t, v, n)
		l.Due(t, -time.Minute, cs...)
		payments := make([]payment.Payment, n)
		for i, c := range cs {
			payments[i] = l.Pays(t, c)
		}
		var late int64
		for i, c := range cs {
			p := payments[i]
			receive := func() error {
				_, _, err := l.Receive(t.Context(),
					payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider})
				return err
			}
			other := receive
			if i%2 == 0 {
				other = func() error { _, err := l.ExpireDue(t.Context(), 1, 1); return err }
			}
			if err := errors.Join(ledgertest.Both(receive, other)); err != nil {
				t.Fatal(err)
			}
			switch status, attempt := l.ReadOrder(t, c.OrderID).Status, l.ReadPayment(t, p.ID); {
			case status == order.Paid && attempt == payment.Received:
			case status == order.Cancelled && attempt == payment.Late:
				late++
			default:
				t.Errorf("the order is %s, its payment %s", status, attempt)
			}
		}
		var revivals int64
		for _, op := range l.ReadPending(t, v) {
			if op.Kind == operation.Revival {
				revivals++
			}
		}
		if revivals != late {
			t.Errorf("%d late payments have %d revivals", late, revivals)
		}
		l.ApplyAll(t, v)
		l.Conserved(t, v)
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_payment WHERE state <> 2"); n != 0 {
			t.Errorf("%d payments were not used", n)
		}
	})
}

// A second payment of a cancelled order, by whatever way it came to be, does not take a second unit.
func TestReceiveTwoPayments(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		c := l.late(t, v, 1)
		l.Exec(t, "INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, create_time) "+
			"VALUES ('pay_x', ?, 1, ?, 1, 1000, 1, ?)", c.OrderID, v, ledgertest.Stored(ledgertest.RecordedAt))
		got, _, err := l.Receive(t.Context(), payment.Notice{PaymentID: "pay_x", Amount: 1000})
		if err != nil || got.State != payment.Refunding || len(l.ReadPending(t, v)) != 1 {
			t.Errorf("%+v, %v; operations %v", got, err, l.ReadPending(t, v))
		}
		l.ApplyAll(t, v)
		if o, err := l.AskRefund(t.Context(), 1, c.OrderID); err != nil || o.Status != order.Refunding {
			t.Errorf("AskRefund: %+v, %v", o, err)
		}
		// The money of the second one has gone back: the order still waits for that of the first.
		if o, err := l.Refunded(t.Context(), "pay_x", "pay_x", ""); err != nil || o.Status != order.Refunding {
			t.Errorf("Refunded: %+v, %v", o, err)
		}
		id := fmt.Sprintf("pay_%d", c.OrderID)
		if o, err := l.Refunded(t.Context(), id, id, ""); err != nil ||
			o.Status != order.Refunded {
			t.Errorf("Refunded: %+v, %v", o, err)
		}
	})
}

func TestRefund(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, plain := l.Seckill(t, 10), l.Ordinary(t)
		first, second, third := l.NewOrders(t, v, 1)[0], l.Bought(t, plain, 1), l.Bought(t, plain, 2)
		for _, c := range []order.Claim{first, second, third} {
			if _, err := l.AskRefund(t.Context(), c.UserID, c.OrderID); !ledgertest.InState(err, order.Unpaid) {
				t.Errorf("AskRefund of an unpaid order: %v", err)
			}
			l.Receives(t, l.Pays(t, c))
			if _, err := l.AskRefund(t.Context(), c.UserID+7, c.OrderID); !errors.Is(err, order.ErrNotFound) {
				t.Errorf("AskRefund of another user's: %v", err)
			}
			for range 2 {
				o, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
				if err != nil || o.Status != order.Refunding || !o.RefundingAt.Equal(ledgertest.RecordedAt) {
					t.Errorf("AskRefund: %+v, %v", o, err)
				}
			}
		}
		l.Exec(t, "UPDATE tb_payment SET create_time = ? WHERE order_id = ?",
			ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Hour)), second.OrderID)
		back, err := l.Refunding(t.Context(), 2)
		if err != nil || len(back) != 2 || back[0].OrderID != second.OrderID ||
			back[0].State != payment.Refunding {
			t.Errorf("Refunding = %+v, %v; want two, the oldest first", back, err)
		}
		for range 2 {
			id := fmt.Sprintf("pay_%d", first.OrderID)
			o, err := l.Refunded(t.Context(), id, id, "")
			if err != nil || o.Status != order.Refunded || !o.RefundedAt.Equal(ledgertest.RecordedAt) {
				t.Errorf("Refunded: %+v, %v", o, err)
			}
		}
		if o, err := l.AskRefund(t.Context(), first.UserID, first.OrderID); err != nil || o.Status != order.Refunded {
			t.Errorf("AskRefund after it: %+v, %v", o, err)
		}
		want := "paid by payment provider: \nrefunding by owner: \nrefunded by payment provider: MONEY_BACK"
		if got := l.ReadHistory(t, first.OrderID); got != want {
			t.Errorf("history\n%s", got)
		}
		op := operation.Operation{
			VoucherID: v, Number: 1, Kind: operation.Refund, Delta: 1, OrderID: first.OrderID, UserID: first.UserID,
		}
		if diff := cmp.Diff([]operation.Operation{op}, l.ReadPending(t, v)); diff != "" {
			t.Errorf("operations (-want +got):\n%s", diff)
		}
		if _, err := l.Refunded(t.Context(), "pay_", "pay_", ""); !errors.Is(err, payment.ErrNotFound) {
			t.Errorf("Refunded of none: %v, want ErrNoPayment", err)
		}
		open := l.Pays(t, l.Bought(t, plain, 3))
		_, err = l.Refunded(t.Context(), open.ID, open.ID, "")
		if err == nil || l.ReadPayment(t, open.ID) != payment.Open {
			t.Errorf("Refunded of an open payment: %v", err)
		}
		l.Force(t, order.Paid, open.OrderID)
		if _, err := l.AskRefund(t.Context(), 3, open.OrderID); err == nil ||
			l.ReadOrder(t, open.OrderID).Status != order.Paid {
			t.Errorf("AskRefund without a payment: %v", err)
		}
		l.Conserved(t, v)
	})
}

// Late payments whose sale retires before Redis was asked again go back.
func TestReviveLateOfARetiredSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, w := l.Seckill(t, 10), l.Seckill(t, 10)
		gone, waiting := l.late(t, v, 1), l.late(t, w, 1)
		if got, err := l.ReviveLate(t.Context(), 10); err != nil || got != nil {
			t.Errorf("both are pending: %v, %v", got, err)
		}
		if _, err := l.Snapshot(t.Context(), v, 1); err != nil {
			t.Fatal(err)
		}
		l.RetireSale(t, v)
		if got, err := l.ReviveLate(t.Context(), 10); err != nil || !cmp.Equal([]int64{v}, got) {
			t.Errorf("ReviveLate = %v, %v; want %d", got, err, v)
		}
		if got := l.ReadPayment(t, fmt.Sprintf("pay_%d", gone.OrderID)); got != payment.Refunding {
			t.Errorf("the payment is %s", got)
		}
		if got := l.ReadPayment(t, fmt.Sprintf("pay_%d", waiting.OrderID)); got != payment.Late {
			t.Errorf("the other payment is %s", got)
		}
	})
}

// Two instances that look at once ask Redis once.
func TestReviveLateAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		for user := range int64(5) {
			l.late(t, v, user+1)
			if _, err := l.Snapshot(t.Context(), v, 1); err != nil {
				t.Fatal(err)
			}
			revive := func() error {
				_, err := l.ReviveLate(t.Context(), 10)
				return err
			}
			if err := errors.Join(ledgertest.Both(revive, revive)); err != nil {
				t.Fatal(err)
			}
			if ops := l.ReadPending(t, v); len(ops) != 1 {
				t.Errorf("operations %v, want one", ops)
			}
			l.ApplyAll(t, v)
		}
		l.Conserved(t, v)
	})
}

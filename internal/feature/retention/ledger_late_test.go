package retention

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// refusesLate: whatever is left elsewhere of a purged sale is of an unknown voucher, and nothing opens it.
func (r *rig) refusesLate(t *testing.T, id int64) {
	t.Helper()
	sale := r.Sale(t, id)
	late := ledgertest.Claims(id, 500, 3)
	late[1].Epoch, late[2].Epoch = 0, sale.Epoch // of unknown origin; of the epoch that nobody has sold in
	for _, c := range late[:2] {
		if err := r.Insert(t.Context(), []order.Claim{c}); !errors.Is(err, order.ErrConflict) {
			t.Errorf("a late claim of epoch %d: %v", c.Epoch, err)
		}
	}
	for _, c := range late {
		admitted := order.LedgerSale{Epoch: sale.Epoch, FirstEpoch: sale.FirstEpoch}.Admitted(c)
		if admitted {
			t.Errorf("a claim of epoch %d counts as admitted", c.Epoch)
		}
	}
	if err := r.Settle(t.Context(), late, ledgertest.DecideAll(late, order.Fail, reason.UnknownVoucher)); err != nil {
		t.Error(err)
	}
	if _, err := r.RaiseEpoch(t.Context(), id, 0, order.SaleView{}); !errors.Is(err, voucher.ErrNotSeckill) {
		t.Errorf("raising the epoch: %v", err)
	}
	r.Exec(t, "UPDATE tb_voucher_order SET create_time = ? WHERE voucher_id = ?",
		ledgertest.Stored(before().Add(time.Hour)), id)
	want := r.sums(t, id) // the failed claims are rows, and the next purge takes them, however young they are
	done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
	if diff := cmp.Diff(want, r.sums(t, id)); err != nil || done.Orders != 3 || !done.Done || diff != "" {
		t.Errorf("purging again: %+v, %v\n%s", done, err, diff)
	}
}

// Calls about a purged order or payment are answered that it is unknown, and change nothing: notices of providers,
// answers about refunds, calls of the buyer and of staff, and jobs that read the rows before.
func TestPurgedIsUnknown(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.sold(t)
		orders, err := r.OrdersAfter(t.Context(), id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		o := orders[len(orders)-1]
		for _, of := range orders {
			if of.Status == order.Redeemed {
				o = of
			}
		}
		var p payment.Payment
		for _, q := range r.payments(t, id) {
			if q.OrderID == o.ID {
				p = q
			}
		}
		if p.ID == "" {
			t.Fatal("the order has no payment")
		}
		if done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always); err != nil ||
			!done.Done {
			t.Fatal(done, err)
		}
		want, ctx := r.rows(t), t.Context()
		notice := payment.Notice{PaymentID: p.ID, Amount: p.Amount, Kind: payment.NoticeDisputed}
		refund := payment.Notice{
			PaymentID: p.ID, Amount: 5, Kind: payment.NoticeRefund,
			Refund: payment.RefundNotice{Reference: "re_1", State: payment.RefundDone},
		}
		act := order.PaymentAct{PaymentID: p.ID, By: ledgertest.Admin, Why: "late"}
		for what, try := range map[string]func() error{
			"money":         func() error { _, _, err := r.Receive(ctx, notice); return err },
			"a dispute":     func() error { _, _, err := r.TakeNotice(ctx, notice); return err },
			"progress":      func() error { _, _, err := r.TakeProgress(ctx, notice); return err },
			"a refund":      func() error { _, _, err := r.TakeRefund(ctx, refund); return err },
			"sending":       func() error { _, _, _, err := r.SendRefund(ctx, p.ID, ""); return err },
			"sent":          func() error { _, err := r.Refunded(ctx, p.ID, p.ID, "re"); return err },
			"refused":       func() error { _, err := r.Refused(ctx, p.ID, p.ID, "no"); return err },
			"trying again":  func() error { _, _, err := r.RetryRefund(ctx, act); return err },
			"a part":        func() error { _, _, err := r.RefundPart(ctx, act, 1); return err },
			"its reference": func() error { return r.Begun(ctx, p.ID, "pi_1") },
			"finding it":    func() error { _, err := r.Payment(ctx, p.ID); return err },
		} {
			if err := try(); !errors.Is(err, payment.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for what, try := range map[string]func() error{
			"a refund for its owner": func() error { _, err := r.AskRefund(ctx, o.UserID, o.ID); return err },
			"a cancellation": func() error {
				_, err := r.Transition(ctx, o.ID, 0, order.Cancel, order.Owner)
				return err
			},
			"another attempt": func() error {
				_, err := r.OpenPayment(ctx, o.UserID, o.ID, "pay_new", []string{"sandbox"})
				return err
			},
		} {
			if err := try(); !errors.Is(err, order.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := r.Cancelled(ctx, p.ID); err != nil { // the job that tells providers to expect no more
			t.Error(err)
		}
		if diff := cmp.Diff(want, r.rows(t)); diff != "" {
			t.Errorf("it has changed rows (-before +after):\n%s", diff)
		}
	})
}

// An order that stays goes on: it is refunded, its unit comes back, and the sale still adds up, before and after the
// next purge takes it.
func TestWhatStaysGoesOn(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.sold(t)
		balanced := func(when string) {
			t.Helper()
			if p, err := r.Purged(t.Context(), id); err != nil || p.Difference() != 0 {
				t.Errorf("%s: %+v, %v", when, p, err)
			}
		}
		c := r.candidate(t, id)
		if err := r.retention.Begin(t.Context(), c, "", by()); err != nil {
			t.Fatal(err)
		}
		stays := r.paid(t, id, 0)[0]
		r.Exec(t, "UPDATE tb_payment SET dispute = 1, disputed = 5 WHERE order_id = ?", stays)
		done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
		if err != nil || done.Owed[Dispute] != 1 || done.Orders != 11 {
			t.Fatalf("%+v, %v", done, err)
		}
		balanced("with an order that stays")
		o := r.ReadOrder(t, stays)
		r.Exec(t, "UPDATE tb_payment SET dispute = 2 WHERE order_id = ?", stays)
		if _, err := r.AskRefund(t.Context(), o.UserID, stays); err != nil {
			t.Fatal(err)
		}
		balanced("being refunded")
		for _, p := range r.payments(t, id) {
			if _, err := r.Refunded(t.Context(), p.ID, p.ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		r.Clock.Add(int64(time.Minute))
		balanced("refunded")
		want := r.sums(t, id)
		done, err = r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
		if diff := cmp.Diff(want, r.sums(t, id)); err != nil || !done.Done || done.Orders != 1 || diff != "" {
			t.Errorf("%+v, %v\n%s", done, err, diff)
		}
		balanced("without any order")
		if left := r.left(t, id); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

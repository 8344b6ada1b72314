package service

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// stuckRefund returns parts with a payment that its provider has refused for good to send back so many times.
func stuckRefund(t *testing.T, times int) *orderParts {
	t.Helper()
	p := newOrderParts(t)
	paidBy(p, 66, "pay_1", 500)
	p.provider.finalNo["pay_1"] = times
	if _, err := p.ledger.AskRefund(t.Context(), 2, 66); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *orderParts) payment(id string) payment.Payment {
	p.ledger.Mu.Lock()
	defer p.ledger.Mu.Unlock()
	return p.ledger.payments[id]
}

// A final no is asked for once: what follows is for staff. Retried, the provider is asked for the same payment again.
func TestFinalNo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := stuckRefund(t, 2)
		defer runPayments(t, p)()
		act := order.PaymentAct{PaymentID: "pay_1", By: voucher.Author{AdminID: 1}, Why: "they say that it works now"}
		for refused := 1; refused <= 2; refused++ {
			time.Sleep(time.Hour)
			synctest.Wait()
			p.observer.Count(func() {
				if p.observer.RefusedRefunds != refused || p.observer.FailedRefunds != 0 ||
					p.observer.NeedStaff.Stuck != 1 {
					t.Errorf("refused %d times, failed %d times, %+v; want refused %d times", p.observer.RefusedRefunds,
						p.observer.FailedRefunds, p.observer.NeedStaff, refused)
				}
			})
			if now := p.payment("pay_1"); now.State != payment.Stuck || now.Refusal != "the account is closed" {
				t.Errorf("%+v", now)
			}
			if now, err := p.payments.RetryRefund(t.Context(), act); err != nil || now.State != payment.Refunding {
				t.Errorf("retried: %+v, %v", now, err)
			}
		}
		synctest.Wait()
		if !slices.Equal(p.provider.back, []string{"pay_1"}) || p.ledger.rows.Rows[66].Status != order.Refunded {
			t.Errorf("sent back %v, the order is %s", p.provider.back, p.ledger.rows.Rows[66].Status)
		}
		var state *payment.StateError
		if _, err := p.payments.CloseRefund(t.Context(), act); !errors.As(err, &state) {
			t.Errorf("closing what is refunded: %v", err)
		}
	})
}

// The process dies, or the ledger is away, between a provider's final no and our note of it: the provider is asked
// again.
func TestFinalNoIsNotedAfterAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := stuckRefund(t, 3)
		p.ledger.Before["refused"], p.ledger.After["refused"] = 1, 1
		defer runPayments(t, p)()
		time.Sleep(time.Minute)
		synctest.Wait()
		if now := p.payment("pay_1"); now.State != payment.Stuck || p.observer.RefusedRefunds != 2 {
			t.Errorf("%+v, refused %d times", now, p.observer.RefusedRefunds)
		}
	})
}

// Closing a refund tells those who watch the order, and gives its unit back to Redis.
func TestCloseRefund(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := stuckRefund(t, 1)
		stop := runPayments(t, p)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		act := order.PaymentAct{PaymentID: "pay_1", By: voucher.Author{AdminID: 1}, Why: "paid out in cash"}
		p.ledger.Before["stuck"] = 1
		if _, err := p.payments.CloseRefund(t.Context(), act); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("while the ledger is away: %v", err)
		}
		watch := p.notifier.Subscribe(66)
		defer watch.Cancel()
		if now, err := p.payments.CloseRefund(t.Context(), act); err != nil || now.State != payment.Closed {
			t.Errorf("%+v, %v", now, err)
		}
		if status, err := watch.Wait(t.Context(), order.Refunding); err != nil || status != order.Refunded {
			t.Errorf("watched: %s, %v", status, err)
		}
		if !slices.Contains(p.outbox.flushRequests, ordertest.VoucherA) || len(p.provider.back) != 0 {
			t.Errorf("flushes %v, sent back %v", p.outbox.flushRequests, p.provider.back)
		}
	})
}

// Slow refunds hold up others that were listed with them. The provider is asked for those that are due still when their
// turn comes, and for what is left of them then.
func TestRefundsThatHaveWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.provider.asked = make(chan string)
		names := []string{"closed", "disputed", "in part"}
		for range refundWorkers {
			names = slices.Insert(names, 0, "slow "+strconv.Itoa(len(names)))
		}
		for i, name := range names {
			paidBy(p, int64(66+i), name, 500)
			if _, err := p.ledger.AskRefund(t.Context(), 2, int64(66+i)); err != nil {
				t.Fatal(err)
			}
		}
		defer runPayments(t, p)()
		time.Sleep(refundEvery)
		synctest.Wait()
		for name, change := range map[string]func(*payment.Payment){
			"closed":   func(p *payment.Payment) { p.State = payment.Closed },
			"disputed": func(p *payment.Payment) { p.Dispute, p.Disputed = payment.DisputeOpen, 500 },
			"in part":  func(p *payment.Payment) { p.Returned = 200 },
		} {
			payment := p.payment(name)
			change(&payment)
			p.ledger.Mu.Lock()
			p.ledger.put(payment)
			p.ledger.Mu.Unlock()
		}
		var asked []string
		for waits := true; waits; {
			synctest.Wait()
			select {
			case name := <-p.provider.asked:
				asked = append(asked, name)
			default:
				waits = false
			}
		}
		slices.Sort(asked)
		want := slices.DeleteFunc(names, func(name string) bool { return name == "closed" || name == "disputed" })
		slices.Sort(want)
		if !slices.Equal(asked, want) || p.provider.cents != refundWorkers*500+300 {
			t.Errorf("asked for %q, sent back %d cents", asked, p.provider.cents)
		}
		p.observer.Count(func() {
			if p.observer.Refunds != refundWorkers+1 || p.observer.FailedRefunds != 0 {
				t.Errorf("observed %d refunds and %d failures", p.observer.Refunds, p.observer.FailedRefunds)
			}
		})
	})
}

package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func unpaidOrder(amount int64) Order {
	return Order{ID: 66, UserID: 2, VoucherID: voucherA, Amount: amount, Status: Unpaid}
}

func TestPay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		order  Order
		before string
		away   bool // the provider
		none   bool // no provider
		want   error
		url    string
		state  PaymentState
	}{
		"begun":                         {order: unpaidOrder(500), url: "https://pay.example/pay_1", state: PaymentOpen},
		"what costs nothing is paid":    {order: unpaidOrder(0), none: true, state: PaymentReceived},
		"nobody to pay to":              {order: unpaidOrder(500), none: true, want: ErrNoProvider},
		"the provider does not answer":  {order: unpaidOrder(500), away: true, want: ErrUnavailable},
		"the ledger does not answer":    {order: unpaidOrder(500), before: "open", want: ErrUnavailable},
		"somebody else's order":         {order: Order{ID: 66, UserID: 3, Status: Unpaid}, want: ErrNotFound},
		"the notice is lost in between": {order: unpaidOrder(0), before: "receive", want: ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newLife(t, tc.order)
			p.provider.away = tc.away
			if tc.none {
				p.cashier.provider = nil
			}
			p.life.before[tc.before] = 1
			payment, url, err := p.cashier.Pay(t.Context(), 2, 66)
			if !errors.Is(err, tc.want) || url != tc.url || payment.State != tc.state {
				t.Errorf("%+v at %q, %v; want %s at %q, %v", payment, url, err, tc.state, tc.url, tc.want)
			}
		})
	}
	for _, s := range []Status{Paid, Redeemed, Cancelled, Refunding, Refunded, Failed} {
		o := unpaidOrder(500)
		o.Status = s
		var state *StateError
		if _, _, err := newLife(t, o).cashier.Pay(t.Context(), 2, 66); !errors.As(err, &state) || state.Status != s {
			t.Errorf("paying for an order that is %s: %v", s, err)
		}
	}
}

func TestPayGoesOnWithWhatWasBegun(t *testing.T) {
	t.Parallel()
	p := newLife(t, unpaidOrder(500))
	first, _, err := p.cashier.Pay(t.Context(), 2, 66)
	again, _, errAgain := p.cashier.Pay(t.Context(), 2, 66)
	if err != nil || errAgain != nil || first != again {
		t.Errorf("%+v, %v; then %+v, %v", first, err, again, errAgain)
	}
}

func TestPayWaitsForTheRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		p.held[BuyerKey{voucherA, 2}] = 66
		time.AfterFunc(3*time.Second, func() {
			p.life.rows.put(unpaidOrder(500))
			p.room.Told(map[int64]Status{66: Unpaid})
		})
		if payment, _, err := p.cashier.Pay(t.Context(), 2, 66); err != nil || payment.OrderID != 66 {
			t.Errorf("%+v, %v", payment, err)
		}
		p.catalog.Close()
	})
}

// The provider's word, in every state of the order and said twice.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status Status // of the order when the money comes
		noUnit bool
		want   Status
		state  PaymentState
	}{
		"in time":                     {status: Unpaid, want: Paid, state: PaymentReceived},
		"late, and there is a unit":   {status: Cancelled, want: Paid, state: PaymentReceived},
		"late, and there is none":     {status: Cancelled, noUnit: true, want: Cancelled, state: PaymentRefunding},
		"paid for otherwise already":  {status: Paid, want: Paid, state: PaymentRefunding},
		"the money went back already": {status: Refunded, want: Refunded, state: PaymentRefunding},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newLife(t, unpaidOrder(500))
			p.life.noUnit = tc.noUnit
			p.outbox.onFollow = p.life.settleLate
			payment, _, err := p.cashier.Pay(t.Context(), 2, 66)
			if err != nil {
				t.Fatal(err)
			}
			o := unpaidOrder(500)
			o.Status = tc.status
			p.life.rows.put(o)
			n := Notice{PaymentID: payment.ID, Amount: 500}
			if len(p.cashier.woken) != 0 {
				t.Error("woken before there is anything to give back")
			}
			p.life.after["receive"] = 1 // taken, and the provider is not told so
			if err := p.cashier.Confirm(t.Context(), n); !errors.Is(err, ErrUnavailable) {
				t.Errorf("first: %v, want ErrUnavailable", err)
			}
			for range 2 {
				if err := p.cashier.Confirm(t.Context(), n); err != nil {
					t.Error(err)
				}
			}
			if at := tc.state == PaymentRefunding; at != (len(p.cashier.woken) == 1) {
				t.Errorf("woken: %v, want %v", !at, at)
			}
			if got := p.life.rows.rows[66].Status; got != tc.want || p.life.payments[payment.ID].State != tc.state {
				t.Errorf("the order is %s and the payment %s, want %s and %s", got, p.life.payments[payment.ID].State, tc.want, tc.state)
			}
		})
	}
}

func TestConfirmRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newLife(t, unpaidOrder(500))
	payment, _, err := p.cashier.Pay(t.Context(), 2, 66)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[Notice]error{
		{PaymentID: "pay_unknown", Amount: 500}: ErrNoPayment,
		{PaymentID: payment.ID, Amount: 1}:      ErrWrongAmount,
	} {
		if err := p.cashier.Confirm(t.Context(), n); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", n, err, want)
		}
	}
	if got := p.life.rows.rows[66].Status; got != Unpaid || len(p.saw.received) != 0 {
		t.Errorf("the order is %s, received %v", got, p.saw.received)
	}
}

// runCashier runs a cashier until the test ends it, in a bubble.
func runCashier(t *testing.T, p *lifeParts) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.cashier.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	}
}

// paidBy makes an order that a received payment has paid for.
func paidBy(p *lifeParts, id int64, payment string, amount int64) {
	p.life.mu.Lock()
	defer p.life.mu.Unlock()
	p.life.rows.put(Order{ID: id, UserID: 2, VoucherID: voucherA, Amount: amount, Status: Paid})
	p.life.put(Payment{ID: payment, OrderID: id, UserID: 2, VoucherID: voucherA, Amount: amount, State: PaymentReceived})
}

func TestRefund(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		amount   int64
		refusals int
		want     Status // in the answer
		after    time.Duration
	}{
		"at once":                         {amount: 500, want: Refunded},
		"nothing to send back":            {amount: 0, refusals: 1, want: Refunded},
		"the provider takes its time":     {amount: 500, refusals: 3, want: Refunding, after: 10 * time.Second},
		"and so does the ledger's answer": {amount: 500, refusals: -1, want: Refunding},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newLife(t)
				paidBy(p, 66, "pay_1", tc.amount)
				p.provider.refusals["pay_1"] = tc.refusals
				defer runCashier(t, p)()
				o, err := p.cashier.Refund(t.Context(), 2, 66)
				if err != nil || o.Status != tc.want {
					t.Errorf("%s, %v; want %s", o.Status, err, tc.want)
				}
				if tc.refusals < 0 {
					return
				}
				time.Sleep(tc.after)
				synctest.Wait()
				if o, err := p.cashier.Refund(t.Context(), 2, 66); err != nil || o.Status != Refunded {
					t.Errorf("asked again: %s, %v", o.Status, err)
				}
				synctest.Wait()
				if tc.amount > 0 && len(p.provider.back) != 1 {
					t.Errorf("the money went back %d times", len(p.provider.back))
				}
				if !slices.Contains(p.outbox.notices, voucherA) {
					t.Error("nobody was told that a unit comes back")
				}
				if want := max(0, tc.refusals); tc.amount > 0 && p.saw.unpaid != want || p.saw.repaid != 1 {
					t.Errorf("observed %d failures and %d refunds", p.saw.unpaid, p.saw.repaid)
				}
			})
		})
	}
}

func TestRefundOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, s := range []Status{Unpaid, Redeemed, Cancelled, Failed, Queued} {
		p := newLife(t)
		if s == Queued {
			p.held[BuyerKey{voucherA, 2}] = 66
		} else {
			p.life.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: s})
		}
		want := &StateError{OrderID: 66, Status: s, Action: RequestRefund}
		if _, err := p.cashier.Refund(t.Context(), 2, 66); cmp.Diff(error(want), err) != "" {
			t.Errorf("of an order that is %s: %v, want %v", s, err, want)
		}
		if _, err := p.cashier.Refund(t.Context(), 3, 66); !errors.Is(err, ErrNotFound) {
			t.Errorf("of somebody else's order: %v", err)
		}
	}
	p := newLife(t, unpaidOrder(500))
	p.life.before["ask"] = 1
	if _, err := p.cashier.Refund(t.Context(), 2, 66); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

// Hundreds of payments that the provider refuses, all older than the one that it does not: that one goes back at once,
// and they are not asked for all the time.
func TestRefundsThatFailHoldUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 2 * refundBatch
		p := newLife(t)
		for i := range int64(bad) {
			paidBy(p, 1000+i, fmt.Sprint("bad_", i), 500)
			p.provider.refusals[fmt.Sprint("bad_", i)] = -1
			if _, err := p.life.AskRefund(t.Context(), 2, 1000+i); err != nil {
				t.Fatal(err)
			}
		}
		defer runCashier(t, p)()
		time.Sleep(time.Minute)
		p.saw.count(func() { p.saw.unpaid = 0 })
		paidBy(p, 66, "good", 500)
		if o, err := p.cashier.Refund(t.Context(), 2, 66); err != nil || o.Status != Refunded {
			t.Errorf("%s, %v", o.Status, err)
		}
		time.Sleep(2 * refundPauses)
		synctest.Wait()
		// A minute took six tries each; those of the pauses of 64, 128 and 256 seconds follow, and perhaps one of 300.
		if p.saw.unpaid < 3*bad || p.saw.unpaid > 4*bad {
			t.Errorf("%d attempts for %d payments in %v", p.saw.unpaid, bad, 2*refundPauses)
		}
	})
}

// The process dies after the provider has sent the money and before the ledger knows: the provider is asked again, which
// is harmless, and the ledger knows then.
func TestRefundIsRecordedAfterAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		paidBy(p, 66, "pay_1", 500)
		p.life.before["refunded"], p.life.after["refunded"], p.life.before["refunding"] = 1, 1, 1
		defer runCashier(t, p)()
		if _, err := p.cashier.Refund(t.Context(), 2, 66); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := p.life.rows.rows[66].Status; got != Refunded {
			t.Errorf("the order is %s", got)
		}
	})
}

// A late payment that a rebuild came across is asked about again, and money without a provider waits for one.
func TestCashierSeesToWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		p.cashier.provider = nil
		p.life.revived = []int64{voucherA}
		p.life.before["revive"] = 1
		paidBy(p, 66, "pay_1", 500)
		defer runCashier(t, p)()
		if o, err := p.cashier.Refund(t.Context(), 2, 66); err != nil || o.Status != Refunding {
			t.Errorf("%s, %v", o.Status, err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]int64{voucherA}, p.outbox.notices); diff != "" {
			t.Errorf("notified (-want +got):\n%s", diff)
		}
		if p.saw.unpaid == 0 {
			t.Error("a refund that cannot be made is not counted")
		}
	})
}

// A provider that does not answer keeps refunds waiting, and nobody else: a late payment is asked about at once.
func TestCashierRevivesWhileTheProviderIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		p.provider.silent = true
		for i := range int64(3 * refundWorkers) {
			paidBy(p, 1000+i, fmt.Sprint("slow_", i), 500)
			if _, err := p.life.AskRefund(t.Context(), 2, 1000+i); err != nil {
				t.Fatal(err)
			}
		}
		defer runCashier(t, p)()
		time.Sleep(refundEvery + providerTime/2) // in the middle of the first calls
		p.life.mu.Lock()
		p.life.revived = []int64{voucherA}
		p.life.mu.Unlock()
		time.Sleep(reviveEvery)
		synctest.Wait()
		if diff := cmp.Diff([]int64{voucherA}, p.outbox.notices); diff != "" {
			t.Errorf("notified (-want +got):\n%s", diff)
		}
	})
}

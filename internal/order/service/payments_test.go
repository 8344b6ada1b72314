package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
)

func unpaidOrder(amount int64) order.Order {
	return order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Amount: amount, Status: order.Unpaid}
}

func TestPay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		order  order.Order
		before string
		away   bool // the provider is away
		none   bool // there is no provider
		want   error
		url    string
		state  payment.State
	}{
		"begun": {
			order: unpaidOrder(500), url: "https://pay.example/pay_1", state: payment.Open,
		},
		"a free order is paid at once": {order: unpaidOrder(0), none: true, state: payment.Received},
		"no provider":                  {order: unpaidOrder(500), none: true, want: payment.ErrNoProvider},
		"the provider does not answer": {order: unpaidOrder(500), away: true, want: payment.ErrNoCheckout},
		"the ledger does not answer":   {order: unpaidOrder(500), before: "open", want: order.ErrUnavailable},
		"somebody else's order": {
			order: order.Order{ID: 66, UserID: 3, Status: order.Unpaid}, want: order.ErrNotFound,
		},
		"the notice is lost in between": {order: unpaidOrder(0), before: "receive", want: order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrderParts(t, tc.order)
			p.provider.away = tc.away
			if tc.none {
				p.payments.providers = Providers{}
			}
			p.ledger.Before[tc.before] = 1
			begun, url, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
			if !errors.Is(err, tc.want) || url != tc.url || begun.State != tc.state {
				t.Errorf("%+v at %q, %v; want %s at %q, %v", begun, url, err, tc.state, tc.url, tc.want)
			}
		})
	}
	for _, s := range []order.Status{
		order.Paid, order.Redeemed, order.Cancelled, order.Refunding, order.Refunded, order.Failed,
	} {
		o := unpaidOrder(500)
		o.Status = s
		var state *order.StateError
		_, _, err := newOrderParts(t, o).payments.Pay(t.Context(), 2, 66, payment.Visit{})
		if !errors.As(err, &state) ||
			state.Status != s {
			t.Errorf("paying for an order that is %s: %v", s, err)
		}
	}
}

func TestPayGoesOnWithWhatWasBegun(t *testing.T) {
	t.Parallel()
	p := newOrderParts(t, unpaidOrder(500))
	first, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
	again, _, errAgain := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
	if err != nil || errAgain != nil || first != again {
		t.Errorf("%+v, %v; then %+v, %v", first, err, again, errAgain)
	}
}

func TestPayWaitsForTheRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		time.AfterFunc(3*time.Second, func() {
			p.ledger.rows.Put(unpaidOrder(500))
			p.notifier.Notify(map[int64]order.Status{66: order.Unpaid})
		})
		if payment, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{}); err != nil || payment.OrderID != 66 {
			t.Errorf("%+v, %v", payment, err)
		}
		p.catalog.Close()
	})
}

// Paying for a recorded order does not look it up first: on a busy ledger that ends before the payment would.
func TestPayLooksUpNothing(t *testing.T) {
	t.Parallel()
	p := newOrderParts(t, unpaidOrder(500))
	p.ledger.rows.Away = true
	if payment, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{}); err != nil || payment.OrderID != 66 {
		t.Errorf("%+v, %v", payment, err)
	}
}

// The provider's notice comes in every state of the order, and is repeated.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status order.Status // of the order when the money comes
		noUnit bool
		want   order.Status
		state  payment.State
	}{
		"in time":                {status: order.Unpaid, want: order.Paid, state: payment.Received},
		"late, with a unit left": {status: order.Cancelled, want: order.Paid, state: payment.Received},
		"late, with no unit left": {
			status: order.Cancelled, noUnit: true, want: order.Cancelled, state: payment.Refunding,
		},
		"already paid for otherwise":  {status: order.Paid, want: order.Paid, state: payment.Refunding},
		"the money already went back": {status: order.Refunded, want: order.Refunded, state: payment.Refunding},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrderParts(t, unpaidOrder(500))
			p.ledger.noUnit = tc.noUnit
			p.outbox.onFlush = p.ledger.completeLate
			attempt, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
			if err != nil {
				t.Fatal(err)
			}
			o := unpaidOrder(500)
			o.Status = tc.status
			p.ledger.rows.Put(o)
			n := payment.Notice{PaymentID: attempt.ID, Amount: 500, Provider: attempt.Provider}
			if len(p.payments.wakeups) != 0 {
				t.Error("Run was woken before there was money to give back")
			}
			p.ledger.After["receive"] = 1 // received, and the provider does not learn so
			if err := p.payments.Confirm(t.Context(), n); !errors.Is(err, order.ErrUnavailable) {
				t.Errorf("the first notice: %v, want ErrUnavailable", err)
			}
			for range 2 {
				if err := p.payments.Confirm(t.Context(), n); err != nil {
					t.Error(err)
				}
			}
			if at := tc.state == payment.Refunding; at != (len(p.payments.wakeups) == 1) {
				t.Errorf("woken: %v, want %v", !at, at)
			}
			if got := p.ledger.rows.Rows[66].Status; got != tc.want || p.ledger.payments[attempt.ID].State != tc.state {
				t.Errorf("the order is %s and the payment %s, want %s and %s",
					got, p.ledger.payments[attempt.ID].State, tc.want, tc.state)
			}
		})
	}
}

func TestConfirmRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newOrderParts(t, unpaidOrder(500))
	attempt, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[payment.Notice]error{
		{PaymentID: "pay_unknown", Amount: 500}: payment.ErrNotFound,
		{
			PaymentID: attempt.ID, Amount: 1, Provider: "bank",
		}: payment.ErrWrongAmount,
		{PaymentID: attempt.ID, Amount: 500, Provider: "other"}:                     payment.ErrNotFound,
		{PaymentID: attempt.ID, Amount: 500, Provider: "bank", Reference: "r\x001"}: payment.ErrBadNotice,
		{
			PaymentID: attempt.ID, Amount: 500, Provider: "bank", Reference: strings.Repeat("r", 129),
		}: payment.ErrBadNotice,

		// MySQL ignores blanks at the end when it compares.
		{PaymentID: attempt.ID + " ", Amount: 500}:        payment.ErrBadNotice,
		{PaymentID: "支付", Amount: 500}:                    payment.ErrBadNotice,
		{PaymentID: attempt.ID + "\x00", Amount: 500}:     payment.ErrBadNotice,
		{PaymentID: strings.Repeat("p", 65), Amount: 500}: payment.ErrBadNotice,
		{Amount: 500}: payment.ErrBadNotice,
	} {
		if err := p.payments.Confirm(t.Context(), n); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", n, err, want)
		}
	}
	if got := p.ledger.rows.Rows[66].Status; got != order.Unpaid || len(p.observer.Payments) != 0 {
		t.Errorf("the order is %s, received %v", got, p.observer.Payments)
	}
}

// runPayments runs the background work of Payments until the test ends it, in a bubble.
func runPayments(t *testing.T, p *orderParts) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.payments.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	}
}

// paidBy adds an order that a received payment has paid for.
func paidBy(p *orderParts, id int64, attempt string, amount int64) {
	p.ledger.Mu.Lock()
	defer p.ledger.Mu.Unlock()
	p.ledger.rows.Put(order.Order{ID: id, UserID: 2, VoucherID: ordertest.VoucherA, Amount: amount, Status: order.Paid})
	p.ledger.put(payment.Payment{
		ID: attempt, OrderID: id, UserID: 2, VoucherID: ordertest.VoucherA, Amount: amount,
		State: payment.Received,
	})
}

func TestRefund(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		amount   int64
		refusals int
		want     order.Status // in the answer
		after    time.Duration
	}{
		"at once":                         {amount: 500, want: order.Refunded},
		"nothing to send back":            {amount: 0, refusals: 1, want: order.Refunded},
		"the provider takes its time":     {amount: 500, refusals: 3, want: order.Refunding, after: 10 * time.Second},
		"and so does the ledger's answer": {amount: 500, refusals: -1, want: order.Refunding},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newOrderParts(t)
				paidBy(p, 66, "pay_1", tc.amount)
				p.provider.refusals["pay_1"] = tc.refusals
				defer runPayments(t, p)()
				o, err := p.payments.Refund(t.Context(), 2, 66)
				if err != nil || o.Status != tc.want {
					t.Errorf("%s, %v; want %s", o.Status, err, tc.want)
				}
				if tc.refusals < 0 {
					return
				}
				time.Sleep(tc.after)
				synctest.Wait()
				if o, err := p.payments.Refund(t.Context(), 2, 66); err != nil || o.Status != order.Refunded {
					t.Errorf("asked again: %s, %v", o.Status, err)
				}
				synctest.Wait()
				if tc.amount > 0 && len(p.provider.back) != 1 {
					t.Errorf("the money went back %d times", len(p.provider.back))
				}
				if !slices.Contains(p.outbox.flushRequests, ordertest.VoucherA) {
					t.Error("no flush was requested for the unit that comes back")
				}
				if want := max(0, tc.refusals); tc.amount > 0 && p.observer.FailedRefunds != want ||
					p.observer.Refunds != 1 {
					t.Errorf("observed %d failures and %d refunds", p.observer.FailedRefunds, p.observer.Refunds)
				}
			})
		})
	}
}

// What goes back at the provider ends as a refund that the provider is not asked for; only what is left is asked for.
func TestNotices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		paidBy(p, 66, "pay_1", 500)
		paidBy(p, 67, "pay_2", 500)
		defer runPayments(t, p)()
		tell := func(n payment.Notice) {
			t.Helper()
			if err := p.payments.Confirm(t.Context(), n); err != nil {
				t.Errorf("%+v: %v", n, err)
			}
			synctest.Wait()
		}
		state := func(id string) payment.State {
			p.ledger.Mu.Lock()
			defer p.ledger.Mu.Unlock()
			return p.ledger.payments[id].State
		}
		tell(payment.Notice{Kind: payment.NoticeReturned, PaymentID: "pay_1", Amount: 200})
		tell(payment.Notice{Kind: payment.NoticeReturned, PaymentID: "pay_2", Amount: 200})
		if state("pay_1") != payment.Received || len(p.provider.back) != 0 {
			t.Errorf("after a part: %s, %v", state("pay_1"), p.provider.back)
		}
		tell(payment.Notice{Kind: payment.NoticeReturned, PaymentID: "pay_1", Amount: 500})
		if state("pay_1") != payment.Refunded || len(p.provider.back) != 0 {
			t.Errorf("after all: %s, %v", state("pay_1"), p.provider.back)
		}
		if o, err := p.payments.Refund(t.Context(), 2, 67); err != nil || o.Status != order.Refunded {
			t.Errorf("the rest of the other: %s, %v", o.Status, err)
		}
		if !slices.Equal(p.provider.back, []string{"pay_2"}) || p.provider.cents != 300 {
			t.Errorf("asked for %v, %d cents", p.provider.back, p.provider.cents)
		}
		for _, n := range []payment.Notice{{Kind: 9, PaymentID: "pay_1"}, {Kind: -1, PaymentID: "pay_1"}} {
			if err := p.payments.Confirm(t.Context(), n); !errors.Is(err, payment.ErrBadNotice) {
				t.Errorf("%+v: %v", n, err)
			}
		}
	})
}

func TestRefundOfWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, s := range []order.Status{order.Unpaid, order.Redeemed, order.Cancelled, order.Failed, order.Queued} {
		p := newOrderParts(t)
		if s == order.Queued {
			p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
		} else {
			p.ledger.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: s})
		}
		want := &order.StateError{OrderID: 66, Status: s, Action: order.RequestRefund}
		if _, err := p.payments.Refund(t.Context(), 2, 66); cmp.Diff(error(want), err) != "" {
			t.Errorf("a refund of an order that is %s: %v, want %v", s, err, want)
		}
		if _, err := p.payments.Refund(t.Context(), 3, 66); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("a refund of another user's order: %v", err)
		}
	}
	p := newOrderParts(t, unpaidOrder(500))
	p.ledger.Before["ask"] = 1
	if _, err := p.payments.Refund(t.Context(), 2, 66); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

// The provider refuses hundreds of payments that are all older than one that it accepts. That one goes back at once,
// and the others are not retried all the time.
func TestFailingRefundsHoldUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 2 * refundBatch
		p := newOrderParts(t)
		for i := range int64(bad) {
			paidBy(p, 1000+i, fmt.Sprint("bad_", i), 500)
			p.provider.refusals[fmt.Sprint("bad_", i)] = -1
			if _, err := p.ledger.AskRefund(t.Context(), 2, 1000+i); err != nil {
				t.Fatal(err)
			}
		}
		defer runPayments(t, p)()
		time.Sleep(time.Minute)
		p.observer.Count(func() { p.observer.FailedRefunds = 0 })
		paidBy(p, 66, "good", 500)
		if o, err := p.payments.Refund(t.Context(), 2, 66); err != nil || o.Status != order.Refunded {
			t.Errorf("%s, %v", o.Status, err)
		}
		time.Sleep(2 * refundPauses)
		synctest.Wait()
		// In a minute each was tried six times; then come the pauses of 64, 128 and 256 seconds, and perhaps one of
		// 300.
		if p.observer.FailedRefunds < 3*bad || p.observer.FailedRefunds > 4*bad {
			t.Errorf("%d attempts for %d payments in %v", p.observer.FailedRefunds, bad, 2*refundPauses)
		}
	})
}

// The process dies after the provider has sent the money and before the ledger knows. The provider is asked again,
// which is harmless, and then the ledger knows.
func TestRefundIsRecordedAfterAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		paidBy(p, 66, "pay_1", 500)
		p.ledger.Before["refunded"], p.ledger.After["refunded"], p.ledger.Before["refunding"] = 1, 1, 1
		defer runPayments(t, p)()
		if _, err := p.payments.Refund(t.Context(), 2, 66); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := p.ledger.rows.Rows[66].Status; got != order.Refunded {
			t.Errorf("the order is %s", got)
		}
	})
}

// A late payment whose operation a rebuild voided is sent to Redis again, and money without a provider waits for one.
func TestPaymentsSeesToWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.payments.providers = Providers{}
		p.ledger.revived = []int64{ordertest.VoucherA}
		p.ledger.Before["revive"] = 1
		paidBy(p, 66, "pay_1", 500)
		defer runPayments(t, p)()
		if o, err := p.payments.Refund(t.Context(), 2, 66); err != nil || o.Status != order.Refunding {
			t.Errorf("%s, %v", o.Status, err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]int64{ordertest.VoucherA}, p.outbox.flushRequests); diff != "" {
			t.Errorf("flushes requested (-want +got):\n%s", diff)
		}
		if p.observer.FailedRefunds == 0 {
			t.Error("a failed refund is not counted")
		}
	})
}

// A provider that does not answer delays refunds, and nothing else: a late payment is revived at once.
func TestPaymentsRevivesWhileTheProviderIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.provider.silent = true
		for i := range int64(3 * refundWorkers) {
			paidBy(p, 1000+i, fmt.Sprint("slow_", i), 500)
			if _, err := p.ledger.AskRefund(t.Context(), 2, 1000+i); err != nil {
				t.Fatal(err)
			}
		}
		defer runPayments(t, p)()
		time.Sleep(refundEvery + providerTimeout/2) // in the middle of the first calls to the provider
		p.ledger.Mu.Lock()
		p.ledger.revived = []int64{ordertest.VoucherA}
		p.ledger.Mu.Unlock()
		time.Sleep(reviveEvery)
		synctest.Wait()
		if diff := cmp.Diff([]int64{ordertest.VoucherA}, p.outbox.flushRequests); diff != "" {
			t.Errorf("flushes requested (-want +got):\n%s", diff)
		}
	})
}

// A provider's reference is stored before the buyer gets the URL to pay at, and a refund names it.
func TestReferences(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after string // a step that fails, or whose answer is lost
		reference     string
		want          error
		stored        string
	}{
		"stored":                    {reference: "r-1", stored: "r-1"},
		"none":                      {},
		"it cannot be stored":       {reference: "r 1", want: payment.ErrBadNotice},
		"the ledger is away":        {before: "reference", reference: "r-1", want: order.ErrUnavailable},
		"its answer gets lost":      {after: "reference", reference: "r-1", want: order.ErrUnavailable, stored: "r-1"},
		"another one in the notice": {reference: "r-1", stored: "r-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrderParts(t, unpaidOrder(500))
			p.ledger.Before[tc.before], p.ledger.After[tc.after] = 1, 1
			p.provider.refer = func(payment.Payment) string { return tc.reference }
			begun, url, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
			if !errors.Is(err, tc.want) || (url == "") != (tc.want != nil) {
				t.Fatalf("%+v at %q, %v; want %v", begun, url, err, tc.want)
			}
			if got := p.ledger.payments["pay_1"]; got.Reference != tc.stored || got.Provider != "bank" {
				t.Errorf("stored %+v, want the reference %q", got, tc.stored)
			}
			if tc.want != nil && tc.reference == "r-1" { // the buyer tries again
				begun, _, err = p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
				if err != nil || begun.ID != "pay_1" || p.ledger.payments["pay_1"].Reference != "r-1" {
					t.Errorf("again: %+v, %v", begun, err)
				}
			}
		})
	}
}

// A payment stays with the provider that it began with, even after another one has become the default.
func TestProvidersChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kept      bool   // the old provider is still configured
		provider  string // the payment's
		pays      string // the provider that takes the money
		wantID    string
		confirmed error // the old provider's notice
		refund    error
	}{
		"the old one is kept":       {kept: true, provider: "old", pays: "old", wantID: "pay_0"},
		"the old one is gone":       {provider: "old", pays: "new", wantID: "pay_1", refund: payment.ErrNoProvider},
		"without a provider's name": {kept: true, provider: "", pays: "new", wantID: "pay_0"},
		"of the new one": {
			kept: true, provider: "new", pays: "new", wantID: "pay_0", confirmed: payment.ErrNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrderParts(t, unpaidOrder(500))
			all := map[string]*fakeProvider{"new": {refusals: map[string]int{}}, "old": {refusals: map[string]int{}}}
			p.payments.providers = Providers{Default: "new", ByName: map[string]Provider{"new": all["new"]}}
			if tc.kept {
				p.payments.providers.ByName["old"] = all["old"]
			}
			p.ledger.put(payment.Payment{
				ID: "pay_0", OrderID: 66, UserID: 2, Amount: 500, State: payment.Open, Provider: tc.provider,
			})
			attempt, _, err := p.payments.Pay(t.Context(), 2, 66, payment.Visit{})
			if err != nil || attempt.ID != tc.wantID || len(all[tc.pays].begun) != 1 {
				t.Errorf("%+v, %v; want %s", attempt, err, tc.wantID)
			}
			if err := p.payments.Confirm(t.Context(), payment.Notice{
				PaymentID: "pay_0", Amount: 500, Provider: "old", Reference: "r-9",
			}); !errors.Is(err, tc.confirmed) {
				t.Errorf("the old provider's notice: %v, want %v", err, tc.confirmed)
			}
			if err := p.payments.sendBack(t.Context(), p.ledger.payments["pay_0"],
				payment.Refund{ID: "pay_0", Amount: 500, Origin: payment.OriginAll}); !errors.Is(err, tc.refund) {
				t.Errorf("refund: %v, want %v", err, tc.refund)
			}
			if tc.confirmed == nil && p.ledger.payments["pay_0"].Reference != "r-9" {
				t.Error("the notice's reference is not the payment's")
			}
		})
	}
}

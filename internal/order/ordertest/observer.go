package ordertest

import (
	"errors"
	"time"

	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
)

// NopObserver ignores everything.
type NopObserver struct{}

func (NopObserver) Admitted([]gate.BatchResult, time.Duration, error) {}

func (NopObserver) RefusedFromCache(int64, int64) {}

func (NopObserver) Recorded(int, int, time.Duration) {}

func (NopObserver) RecordRetried(error) {}

func (NopObserver) Rejected() {}

func (NopObserver) DeadLettered() {}

func (NopObserver) Recovered(int, int64) {}

func (NopObserver) Rebuilt(time.Duration, error) {}

func (NopObserver) Swept(error) {}

func (NopObserver) DecisionsLost(int, error) {}

func (NopObserver) OperationsApplied(int, int, time.Duration, error) {}

func (NopObserver) OutboxBehind(int) {}

func (NopObserver) OrdersExpired(int, time.Duration) {}

func (NopObserver) PaymentReceived(payment.State) {}

func (NopObserver) PaymentRefunded(error) {}

func (NopObserver) PaymentsNeedStaff(payment.NeedStaff, error) {}

// CountingObserver counts what outbox, expirer and payments report.
type CountingObserver struct {
	Faults                                                                 // for its mutex
	Applied, Refused, Failed, SalesBehind, Expired, Refunds, FailedRefunds int
	RefusedRefunds                                                         int // for good
	Payments                                                               []payment.State
	NeedStaff                                                              payment.NeedStaff
}

func (c *CountingObserver) Count(f func()) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	f()
}

func (c *CountingObserver) OperationsApplied(applied, refused int, _ time.Duration, err error) {
	c.Count(func() {
		c.Applied += applied
		c.Refused += refused
		if err != nil {
			c.Failed++
		}
	})
}

func (c *CountingObserver) OutboxBehind(sales int) { c.Count(func() { c.SalesBehind = sales }) }
func (c *CountingObserver) OrdersExpired(n int, _ time.Duration) {
	c.Count(func() { c.Expired += n })
}

func (c *CountingObserver) PaymentReceived(state payment.State) {
	c.Count(func() { c.Payments = append(c.Payments, state) })
}

func (c *CountingObserver) PaymentRefunded(err error) {
	c.Count(func() {
		if _, refused := errors.AsType[*payment.RefusedError](err); refused {
			c.RefusedRefunds++
			return
		}
		if err != nil {
			c.FailedRefunds++
			return
		}
		c.Refunds++
	})
}

func (c *CountingObserver) PaymentsNeedStaff(n payment.NeedStaff, _ error) {
	c.Count(func() { c.NeedStaff = n })
}

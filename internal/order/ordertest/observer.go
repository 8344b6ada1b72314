package ordertest

import (
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

package shoptest

import (
	"context"
	"sync"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/order/payment"
)

// Notices is a shop.NoticeLog in memory.
type Notices struct {
	Err error // of Last

	mu      sync.Mutex
	refused []payment.RefusedNotice
	ignored int
}

// Refused implements shop.NoticeLog.
func (n *Notices) Refused(_ context.Context, r payment.RefusedNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused = append(n.refused, r)
}

// Ignored implements shop.NoticeLog.
func (n *Notices) Ignored() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ignored++
}

// Last implements shop.NoticeLog. There are two rows: of one notice that anybody may have sent, and of a signed one.
func (n *Notices) Last(context.Context) ([]payment.RefusedNotice, error) {
	return []payment.RefusedNotice{
		{
			Provider: "bank", Refusal: payment.RefusedUnknownPayment, Count: 1, Detail: "payment not found",
			PaymentID: "pay_9", Amount: 1000, At: Noon,
		},
		{Refusal: payment.RefusedProvider, Count: 7, Detail: `no provider is called "x"`, At: Noon},
	}, n.Err
}

// Taken returns what was refused, and how many were ignored.
func (n *Notices) Taken() (refused []payment.RefusedNotice, ignored int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]payment.RefusedNotice{}, n.refused...), n.ignored
}

// ProvidersOrError returns a function that returns two payment providers, or an error.
func ProvidersOrError(err error) func(context.Context) ([]shop.Provider, error) {
	return func(context.Context) ([]shop.Provider, error) {
		return []shop.Provider{
			{
				Name: "cards", Set: true, Default: true, Waiting: 2, Failure: &shop.ProviderFailures{
					Reason: "status", Detail: "503: closed", Count: 3, Since: httpkit.ShownTime(Noon),
					Last: httpkit.ShownTime(Noon.Add(time.Minute)),
				},
			},
			{Name: "bank", Waiting: 1},
		}, err
	}
}

package redemption_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/redemption"
)

// keyCounter counts how often the keys are read; each time that fails.
type keyCounter struct {
	redemption.Coupons
	reads int
}

func (c *keyCounter) CouponKeys(context.Context) ([]redemption.Key, error) {
	c.reads++
	return nil, errors.New("the ledger is away")
}

// The keys are read over and over, whatever the ledger says, and never once the context has ended.
func TestKeyLoaderReadsOnAndOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := new(keyCounter)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- redemption.NewKeyLoader(ledger, slog.New(slog.DiscardHandler)).Run(ctx) }()
		time.Sleep(time.Minute + time.Second)
		stop()
		if err := <-ended; err != nil || ledger.reads != 3 {
			t.Errorf("%d reads within a minute, %v; want 3", ledger.reads, err)
		}
	})
}

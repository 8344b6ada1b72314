package redemption

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// The keys are read over and over, whatever the ledger says, and never once the context has ended.
func TestKeyLoaderReadsOnAndOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &fakeLedger{fails: errors.New("the ledger is away")}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- loadKeys(ledger.CouponKeys, slog.New(slog.DiscardHandler))(ctx) }()
		time.Sleep(time.Minute + time.Second)
		stop()
		if err := <-ended; err != nil || ledger.asked != 3 {
			t.Errorf("%d reads within a minute, %v; want 3", ledger.asked, err)
		}
	})
}

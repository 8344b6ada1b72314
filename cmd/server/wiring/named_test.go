package wiring

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"seckill/internal/order"
)

// Operations get an identity once no instance of an earlier version lives, and not before: neither while one does, nor
// while nobody can say.
func TestNamedOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []error{errors.New("Redis is away"), order.ErrUpgrading, order.ErrUpgrading, nil}
		asked, written := 0, make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- awaitFormat(ctx, func(_ context.Context, format string) error {
				asked++
				if format != "named_operations" || asked > len(answers) {
					t.Errorf("asks for %q, %d times", format, asked)
				}
				return answers[min(asked, len(answers))-1]
			}, func() { close(written) }, slog.New(slog.DiscardHandler))
		}()
		<-written
		if asked != len(answers) {
			t.Errorf("written after %d answers", asked)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

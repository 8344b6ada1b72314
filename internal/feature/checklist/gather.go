package checklist

import (
	"context"
	"time"

	"seckill/internal/order/partition"
)

// sourceTimeout is the time limit of each source. A store that needs longer is a No anyway.
const sourceTimeout = 5 * time.Second

// Sources are the functions that are asked. A result that comes with an error is ignored.
type Sources struct {
	Redis     func(ctx context.Context) []Redis // each server has its own error
	Ledger    func(ctx context.Context) (Ledger, error)
	Instances func(ctx context.Context) ([]partition.Instance, error)
	Backlog   func(ctx context.Context) (Backlog, error)
	Sale      func(ctx context.Context) (*Sale, error) // nil: no sale was given
}

// Backlog is the number of entries that wait in the streams of all partitions.
type Backlog struct{ Waiting, DeadLetters int64 }

// Gather asks all sources concurrently and returns the facts known without asking with their results, within
// sourceTimeout.
func Gather(ctx context.Context, f Facts, s Sources) Facts {
	redis := ask(ctx, func(ctx context.Context) ([]Redis, error) { return s.Redis(ctx), nil })
	ledger := ask(ctx, s.Ledger)
	instances, backlog := ask(ctx, s.Instances), ask(ctx, s.Backlog)
	if s.Sale != nil {
		f.Sale, f.SaleErr = ask(ctx, s.Sale)()
	}
	f.Redis, _ = redis() // its error is always nil
	f.Ledger, f.LedgerErr = ledger()
	f.Instances, f.InstancesErr = instances()
	waits, err := backlog()
	f.Waiting, f.DeadLetters, f.BacklogErr = waits.Waiting, waits.DeadLetters, err
	return f
}

// ask starts asking a source, and returns a function that waits for the answer.
func ask[T any](ctx context.Context, source func(context.Context) (T, error)) func() (T, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	var (
		answer T
		err    error
	)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer cancel()
		answer, err = source(ctx)
	}()
	return func() (T, error) {
		<-answered
		return answer, err
	}
}

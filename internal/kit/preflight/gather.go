package preflight

import (
	"context"
	"time"
)

// sourceTimeout is how long each source has for all that it is asked. A store that needs longer is a no anyway.
const sourceTimeout = 5 * time.Second

// Sources are who is asked. What they return with an error is not looked at.
type Sources struct {
	Redis     func(ctx context.Context) []Redis // an error is each server's own
	Ledger    func(ctx context.Context) (Ledger, error)
	Instances func(ctx context.Context) ([]Instance, error)
	Backlog   func(ctx context.Context) (Backlog, error)
	Sale      func(ctx context.Context) (*Sale, error) // nil: no sale is asked for

	// What is known without asking; see [Facts].
	PoolSize, Confirming  int
	HasProvider, Embedded bool
}

// Backlog is what waits in the streams of all partitions.
type Backlog struct{ Waiting, DeadLetters int64 }

// Gather asks all sources at once and returns what they say, after sourceTimeout at most.
func Gather(ctx context.Context, s Sources) Facts {
	redis := ask(ctx, func(ctx context.Context) ([]Redis, error) { return s.Redis(ctx), nil })
	ledger := ask(ctx, s.Ledger)
	instances, backlog := ask(ctx, s.Instances), ask(ctx, s.Backlog)
	f := Facts{PoolSize: s.PoolSize, Confirming: s.Confirming, HasProvider: s.HasProvider, Embedded: s.Embedded}
	if s.Sale != nil {
		f.Sale, f.SaleErr = ask(ctx, s.Sale)()
	}
	f.Redis, _ = redis() // never an error
	f.Ledger, f.LedgerErr = ledger()
	f.Instances, f.InstancesErr = instances()
	waits, err := backlog()
	f.Waiting, f.DeadLetters, f.BacklogErr = waits.Waiting, waits.DeadLetters, err
	return f
}

// ask begins to ask, and returns what waits for the answer.
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

package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/kit/retry"
)

const (
	// openWait is how long a request waits for the stream to be opened, which takes thirteen seconds.
	openWait  = 200 * time.Millisecond
	keepEvery = 15 * time.Second // how often KeepAll says that events of all shops are wanted
	// keepAll is how long events of all shops are still written when no instance wants that any more. An upgrade of the
	// instances one after the other takes less.
	keepAll     = 15 * time.Minute
	keepTimeout = 30 * time.Second
)

// Alone makes sure that no version 1.0 lives, and that none starts any more. It takes thirteen seconds the first time,
// and goes on when ctx has ended. Errors: order.ErrUpgrading, order.ErrUnavailable.
type Alone func(ctx context.Context) error

// Reader reads the stream of events, and opens it for the first admin for whom events are written.
type Reader struct {
	events Stream
	alone  Alone
}

// NewReader returns a reader.
func NewReader(events Stream, alone Alone) *Reader { return &Reader{events, alone} }

// Read returns a page. Errors: as Stream.Events, but for ErrNoStream; order.ErrUpgrading while the stream is being
// opened, and while a version 1.0 lives.
func (r *Reader) Read(ctx context.Context, q StreamQuery) (StreamPage, error) {
	page, err := r.events.Events(ctx, q)
	if !errors.Is(err, ErrNoStream) {
		return page, err
	}
	if err := r.open(ctx); err != nil {
		return StreamPage{}, err
	}
	return r.events.Events(ctx, q)
}

func (r *Reader) open(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if err := r.alone(wait); err != nil {
		return err
	}
	return r.events.OpenStream(ctx)
}

// AllKeeper has events of all shops written as long as this instance is set to want that. Without such a setting it
// ends that some time after the last instance with it.
type AllKeeper struct {
	events Stream
	alone  Alone
	wanted bool
	log    *slog.Logger
}

// NewAllKeeper returns a keeper; Run starts it. wanted: this instance is set to keep events of all shops.
func NewAllKeeper(events Stream, alone Alone, wanted bool, log *slog.Logger) *AllKeeper {
	return &AllKeeper{events, alone, wanted, log}
}

// Run keeps until ctx ends. It retries failures, so it returns no error.
func (k *AllKeeper) Run(ctx context.Context) error {
	backOff := retry.NewBackOff()
	for ctx.Err() == nil {
		err := k.keep(ctx)
		if err == nil {
			backOff.Reset()
			retry.Sleep(ctx, keepEvery)
			continue
		}
		if ctx.Err() == nil {
			k.log.WarnContext(ctx, "keeping events of all shops failed; retrying", "error", err)
			retry.Sleep(ctx, backOff.NextBackOff())
		}
	}
	return nil
}

func (k *AllKeeper) keep(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	if !k.wanted {
		return k.events.LeaveAll(call)
	}
	err := k.events.WriteAll(call, keepAll)
	if !errors.Is(err, ErrNoStream) {
		return err
	}
	if err := k.alone(call); err != nil {
		return err
	}
	if err := k.events.OpenStream(call); err != nil {
		return err
	}
	return k.events.WriteAll(call, keepAll)
}

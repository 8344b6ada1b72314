package dispatch

import (
	"context"
	"errors"
	"time"
)

// openWait is how long a request waits for the stream to be opened, which takes thirteen seconds.
const openWait = 200 * time.Millisecond

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

package dispatch

import (
	"context"
	"errors"
	"time"

	"seckill/internal/kit/trace"
)

// ErrLeaseLost is the error when another process may send to the endpoint now, or the endpoint was deleted.
var ErrLeaseLost = errors.New("the lease of the endpoint is lost")

// Queue has the events to be sent: the ledger. Leases and times are by its clock. Every method may return
// order.ErrUnavailable.
type Queue interface {
	// ClaimEndpoint takes, for owner, the lease of an endpoint that has something to be sent and is not in busy; ok
	// reports whether there was one.
	ClaimEndpoint(ctx context.Context, owner string, busy []int64,
		lease time.Duration) (endpointID int64, ok bool, err error)
	// EventsToSend renews the lease and returns up to n events to be sent, and up to n that belong to retries.
	// Error: ErrLeaseLost.
	EventsToSend(ctx context.Context, owner string, endpointID int64, lease time.Duration, n int) (Work, error)
	// SettleEvents writes the result of work, all or nothing. Events that an admin has meanwhile replayed are still
	// sent again. Error: ErrLeaseLost.
	SettleEvents(ctx context.Context, owner string, s Settled) error
	// ReleaseEndpoint gives the lease back, if owner has it.
	ReleaseEndpoint(ctx context.Context, owner string, endpointID int64) error
}

// Message is an event on its way to an endpoint.
type Message struct {
	URL     string
	ID      string
	At      time.Time // the time of this attempt
	Body    []byte
	Secrets []Secret     // the secrets that sign it
	Trace   trace.Parent // of this attempt, if what caused the event is followed
}

// Sender sends a message. It returns the zero Failure if the receiver has answered with a status of 200 to 299.
type Sender func(ctx context.Context, m Message) Failure

// Observer counts attempts, and failures of endpoints.
type Observer interface {
	// EventSent is called after each attempt, with its duration.
	EventSent(ok bool, took time.Duration)
	// EventsGivenUp is called with the number of events that were given up.
	EventsGivenUp(n int)
	// EndpointDisabled is called when an endpoint was disabled because of its failures.
	EndpointDisabled()
}

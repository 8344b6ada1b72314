package dispatch

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// Numberer numbers events in the order of their commits: the ledger.
type Numberer interface {
	// NumberEvents numbers up to n events that are committed, and returns how many it has numbered: 0 when there were
	// none, or when another instance is at it. Error: order.ErrUnavailable.
	NumberEvents(ctx context.Context, n int) (int, error)
	// AnyEndpoint reports whether there is an endpoint, from memory for up to a second. Error: order.ErrUnavailable.
	AnyEndpoint(ctx context.Context) (bool, error)
}

// ErrLeaseLost says that another process may send to the endpoint now, or that the endpoint was deleted.
var ErrLeaseLost = errors.New("the lease of the endpoint is lost")

// Queue is what is to be sent: the ledger. Leases and times are by its clock. Every method may return
// order.ErrUnavailable.
type Queue interface {
	// ClaimEndpoint takes the lease of an endpoint that has something to be sent, and is none of busy, for owner; ok
	// says whether there was one.
	ClaimEndpoint(ctx context.Context, owner string, busy []int64,
		lease time.Duration) (endpointID int64, ok bool, err error)
	// EventsToSend renews the lease and returns up to n events to be sent, and up to n that belong to retries.
	// Error: ErrLeaseLost.
	EventsToSend(ctx context.Context, owner string, endpointID int64, lease time.Duration, n int) (Work, error)
	// SettleEvents writes what has come of work, all or nothing; what an admin had sent again meanwhile stays to be
	// sent. Error: ErrLeaseLost.
	SettleEvents(ctx context.Context, owner string, s Settled) error
	// ReleaseEndpoint gives the lease back, if owner has it.
	ReleaseEndpoint(ctx context.Context, owner string, endpointID int64) error
}

// Message is an event on its way to an endpoint.
type Message struct {
	URL     string
	ID      string
	At      time.Time // of this attempt
	Body    []byte
	Secrets []Secret // that sign it
}

// Sender sends messages.
type Sender interface {
	// Send returns the zero Failure once the receiver has answered with a status of 200 to 299, else why it has not.
	Send(ctx context.Context, m Message) Failure
}

// Reach is where messages can be sent to at all.
type Reach interface {
	// Never returns why no message could ever be sent to a well-formed URL, as its text alone says; the zero Failure if
	// one may. It looks no name up.
	Never(u *url.URL) Failure
}

// Observer counts what happens.
type Observer interface {
	// EventSent is called after each attempt, with how long it took.
	EventSent(ok bool, took time.Duration)
	// EventsGivenUp is called with how many events were given up.
	EventsGivenUp(n int)
	// EndpointDisabled is called when an endpoint was disabled because it did not take anything.
	EndpointDisabled()
	// WebhooksWaiting is called every few seconds while there are endpoints.
	WebhooksWaiting(b Backlog)
}

// Backlog is how much waits.
type Backlog struct {
	Endpoints   int64         // that are enabled
	Broken      int64         // of them, those whose breaker is open
	Events      int64         // that are not sent, of the endpoint that has most of them
	Oldest      time.Duration // how long the oldest event of an enabled endpoint has waited
	DeadLetters int64
}

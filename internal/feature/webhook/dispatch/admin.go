package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	// OldSecretFor is how long the secret before a rotation signs too.
	OldSecretFor = 24 * time.Hour
	testTimeout  = 10 * time.Second // the attempt to send a test event
)

// Endpoints keeps the endpoints: the ledger. Every method may return order.ErrUnavailable.
type Endpoints interface {
	// CreateEndpoint returns ErrEndpoints when there are too many.
	CreateEndpoint(ctx context.Context, t Terms, secret Secret, by voucher.Author) (Endpoint, error)
	// Endpoints returns all endpoints, oldest first.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// Endpoint returns one endpoint. Error: ErrNoEndpoint.
	Endpoint(ctx context.Context, id int64) (Endpoint, error)
	// ChangeEndpoint lets change edit an endpoint, and stores it unless change fails; now is the ledger's time. Error:
	// ErrNoEndpoint.
	ChangeEndpoint(ctx context.Context, id int64, a voucher.Action, by voucher.Author,
		change func(e *Endpoint, now time.Time) error) (Endpoint, error)
	// DeleteEndpoint deletes an endpoint, with its retries and dead letters. Error: ErrNoEndpoint.
	DeleteEndpoint(ctx context.Context, id int64, by voucher.Author) error
}

// Log has the events that were sent and those still to be sent: the ledger. Every method may return ErrNoEndpoint and
// order.ErrUnavailable.
type Log interface {
	// Deliveries returns events for the endpoint with numbers below before, newest first, at most n.
	Deliveries(ctx context.Context, endpointID, before int64, n int) ([]Delivery, error)
	// WebhookDeadLetters returns the endpoint's dead letters with numbers below before, newest first, at most n.
	WebhookDeadLetters(ctx context.Context, endpointID, before int64, n int) ([]DeadLetter, error)
	// ReplayEvent makes an event and all later ones of its subject be sent again. Error: ErrNoEvent.
	ReplayEvent(ctx context.Context, endpointID int64, id EventID, by voucher.Author) error
	// ReplayTime makes all events from one time to another (exclusive) be sent again, and returns how many event
	// numbers that covers; for an endpoint of one shop, how many events of the shop. Error: ErrNoEvent.
	ReplayTime(ctx context.Context, endpointID int64, from, to time.Time, by voucher.Author) (int64, error)
}

// EventID names an event by its subject and its number among those of the subject.
type EventID struct {
	Subject order.Subject
	Number  int64
}

// String returns the id as endpoints get it, as webhook-id: order-660000000123456789-2.
func (id EventID) String() string { return string(id.Subject) + "-" + strconv.FormatInt(id.Number, 10) }

// ParseEventID reads a webhook-id. Error: *invalid.Error.
func ParseEventID(text string) (EventID, error) {
	i := max(strings.LastIndexByte(text, '-'), 0)
	subject, ok := order.ParseSubject(text[:i])
	number, err := strconv.ParseInt(strings.TrimPrefix(text[i:], "-"), 10, 64)
	id := EventID{Subject: subject, Number: number}
	if !ok || err != nil || number <= 0 || id.String() != text {
		return EventID{}, noEventID(text)
	}
	return id, nil
}

func noEventID(text string) error {
	return invalid.Join(invalid.New("eventId", invalid.Malformed, invalid.EventID,
		invalid.Data{"value": invalid.Clip(text)}))
}

// State is how far the delivery of an event has got.
type State string

// The states of deliveries.
const (
	Waiting   State = "waiting"   // it was not sent yet
	Retrying  State = "retrying"  // the endpoint has not yet taken it, or an earlier event of its subject
	Delivered State = "delivered" // the endpoint has taken it
	Dead      State = "dead"      // the endpoint did not take it, in spite of all attempts
)

// Delivery is an event and how far its delivery to an endpoint has got.
type Delivery struct {
	Event    Event
	State    State
	Attempts int64     // that failed, of an event that is retrying or dead
	Failure  Failure   // of the last of them
	DueAt    time.Time // when it is sent next, if it is retrying
}

// DeliveryOf returns how far the delivery of an event has got; retry is that of its subject, if there is one.
func DeliveryOf(to Endpoint, e Event, retry *Retry, dead *DeadLetter) Delivery {
	d := Delivery{Event: e, State: Delivered}
	switch {
	case dead != nil:
		d.State, d.Attempts, d.Failure = Dead, dead.Attempts, dead.Failure
	case e.Number >= to.Next:
		d.State = Waiting
	case retry != nil && e.Number >= retry.Number:
		d.State, d.DueAt = Retrying, retry.DueAt
		if e.Number == retry.Number {
			d.Attempts, d.Failure = retry.Attempts, retry.Failure
		}
	}
	return d
}

// Admin is what admins do with endpoints.
type Admin struct {
	endpoints Endpoints
	log       Log
	sender    ReachingSender
	now       func() time.Time
}

// ReachingSender is what admins need of a sender.
type ReachingSender interface {
	Sender
	Reach
}

// NewAdmin returns the admins' part.
func NewAdmin(endpoints Endpoints, log Log, sender ReachingSender, now func() time.Time) *Admin {
	return &Admin{endpoints: endpoints, log: log, sender: sender, now: now}
}

// Create makes an endpoint with a new secret. Errors: *invalid.Error, ErrEndpoints, order.ErrUnavailable.
func (a *Admin) Create(ctx context.Context, t Terms, by voucher.Author) (Endpoint, error) {
	err := t.Check()
	if err == nil {
		err = checkReach(t.URL, a.sender)
	}
	if err != nil {
		return Endpoint{}, err
	}
	return a.endpoints.CreateEndpoint(ctx, t, NewSecret(), by)
}

// List returns all endpoints. Error: order.ErrUnavailable.
func (a *Admin) List(ctx context.Context) ([]Endpoint, error) { return a.endpoints.Endpoints(ctx) }

// Find returns an endpoint. Errors: ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Find(ctx context.Context, id int64) (Endpoint, error) {
	return a.endpoints.Endpoint(ctx, id)
}

// Change changes what change does in the endpoint's terms. One that is enabled again is tried at once, from where it
// was. Errors: *invalid.Error, ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Change(ctx context.Context, id int64, change func(*Terms), by voucher.Author) (Endpoint, error) {
	return a.endpoints.ChangeEndpoint(ctx, id, voucher.Changed, by, func(e *Endpoint, now time.Time) error {
		was := e.Terms
		change(&e.Terms)
		err := e.Check()
		if err == nil && e.URL != was.URL { // an old one may be described and disabled, whatever is allowed now
			err = checkReach(e.URL, a.sender)
		}
		if err != nil {
			return err
		}
		switch {
		case e.Disabled && !was.Disabled:
			e.DisabledAt, e.DisabledWhy = now, ByAdmin
		case !e.Disabled && was.Disabled:
			e.DisabledAt, e.DisabledWhy = time.Time{}, ""
		}
		if e.Disabled != was.Disabled || e.URL != was.URL {
			e.Health = Health{}
		}
		return nil
	})
}

// Rotate gives the endpoint a new secret. The one before signs too for OldSecretFor, so that its owner has time to
// change it; until then there is no further rotation, unless at once is true, which ends the old one now: for a
// secret that was disclosed. Errors: ErrNoEndpoint, ErrRotating, order.ErrUnavailable.
func (a *Admin) Rotate(ctx context.Context, id int64, atOnce bool, by voucher.Author) (Endpoint, error) {
	fresh := NewSecret()
	return a.endpoints.ChangeEndpoint(ctx, id, voucher.Rotated, by, func(e *Endpoint, now time.Time) error {
		switch {
		case atOnce:
			e.OldSecret, e.OldSecretUntil = "", time.Time{}
		case len(e.Secrets(now)) > 1:
			return ErrRotating
		default:
			e.OldSecret, e.OldSecretUntil = e.Secret, now.Add(OldSecretFor)
		}
		e.Secret = fresh
		return nil
	})
}

// Delete deletes an endpoint. Errors: ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Delete(ctx context.Context, id int64, by voucher.Author) error {
	return a.endpoints.DeleteEndpoint(ctx, id, by)
}

// testData names the endpoint that is tried.
type testData struct {
	WebhookID int64 `json:"webhookId"`
}

// TestResult is the result of a test event.
type TestResult struct {
	ID      string // its webhook-id
	Took    time.Duration
	Failure Failure // the zero value: it was taken
}

// Test sends a test event, past everything that waits and also to an endpoint that is disabled, once. ErrNoEndpoint,
// order.ErrUnavailable; what the endpoint says is in the result.
func (a *Admin) Test(ctx context.Context, id int64) (TestResult, error) {
	e, err := a.endpoints.Endpoint(ctx, id)
	if err != nil {
		return TestResult{}, err
	}
	began := a.now()
	result := TestResult{ID: "test-" + rand16()}
	body, err := json.Marshal(payload{
		Version: payloadVersion, Type: Test, Timestamp: moment.Of(began), Data: testData{WebhookID: e.ID},
	})
	if err != nil {
		return TestResult{}, fmt.Errorf("the event that tries webhook endpoint %d: %w", id, err)
	}
	call, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	result.Failure = a.sender.Send(call,
		Message{URL: e.URL, ID: result.ID, At: began, Body: body, Secrets: e.Secrets(began)}).Clip()
	if result.Took = a.now().Sub(began); result.Failure.Code != "" && errors.Is(ctx.Err(), context.Canceled) {
		return TestResult{}, ctx.Err()
	}
	return result, nil
}

// Deliveries returns events for the endpoint, newest first. Errors: ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Deliveries(ctx context.Context, id, before int64, n int) ([]Delivery, error) {
	return a.log.Deliveries(ctx, id, before, n)
}

// DeadLetters returns the endpoint's dead letters, newest first. Errors: ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) DeadLetters(ctx context.Context, id, before int64, n int) ([]DeadLetter, error) {
	return a.log.WebhookDeadLetters(ctx, id, before, n)
}

// ReplayEvent makes one event and all later ones of its subject be sent again, so that the endpoint ends with the
// subject's last state. Errors: *invalid.Error, ErrNoEndpoint, ErrNoEvent, order.ErrUnavailable.
func (a *Admin) ReplayEvent(ctx context.Context, id int64, eventID string, by voucher.Author) error {
	event, err := ParseEventID(eventID)
	if err != nil {
		return err
	}
	return a.log.ReplayEvent(ctx, id, event, by)
}

// ReplayTime makes all events of a period be sent again, beside new ones. If to is zero, the period ends now. It
// returns how many numbers it covers. Errors: *invalid.Error, ErrNoEndpoint, ErrNoEvent, order.ErrUnavailable.
func (a *Admin) ReplayTime(ctx context.Context, id int64, from, to time.Time, by voucher.Author) (int64, error) {
	if to.IsZero() {
		to = time.UnixMilli(math.MaxInt32 * 1000 * 2).UTC() // after everything
	}
	if !from.Before(to) {
		return 0, invalid.Join(invalid.New("from", invalid.NotBeforeOther, invalid.BeforeOther,
			invalid.Data{"other": "to"}))
	}
	return a.log.ReplayTime(ctx, id, from, to, by)
}

package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/moment"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	// OldSecretFor is how long the old secret also signs after a rotation.
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

// Log has the events, sent and to be sent, of each endpoint: the ledger. Every method may return ErrNoEndpoint and
// order.ErrUnavailable.
type Log interface {
	// Deliveries returns events for the endpoint with numbers below before, newest first, at most n, and the number
	// below which more may follow, 0 if there are none. A page may be short, or empty, though others follow.
	Deliveries(ctx context.Context, endpointID, before int64, n int) (found []Delivery, next int64, err error)
	// Delivery returns the event, if it is one for the endpoint with a number below before.
	Delivery(ctx context.Context, endpointID int64, id EventID, before int64) ([]Delivery, error)
	// DeadLetters likewise returns the endpoint's dead letters; only the last page is short.
	DeadLetters(ctx context.Context, endpointID, before int64, n int) (letters []Delivery, next int64, err error)
	// ReplayEvent has an event and all later events of its subject sent again. Error: ErrNoEvent.
	ReplayEvent(ctx context.Context, endpointID int64, id EventID, by voucher.Author) error
	// ReplayTime has all events from one time to another (exclusive) sent again. It returns the number of events; for
	// an endpoint of all shops, the number of event numbers in the range. Error: ErrNoEvent.
	ReplayTime(ctx context.Context, endpointID int64, from, to time.Time, by voucher.Author) (int64, error)
}

// EventID names an event by its subject and its number among the subject's events.
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
		return EventID{}, invalid.Join(invalid.New("eventId", invalid.Malformed, webhookID,
			invalid.Data{"value": invalid.Clip(text)}))
	}
	return id, nil
}

// State is the progress of the delivery of an event.
type State string

// The states of deliveries.
const (
	Waiting   State = "waiting"   // the event was not sent yet
	Retrying  State = "retrying"  // the endpoint has not taken the event or an earlier one of its subject
	Delivered State = "delivered" // the endpoint has taken it
	Dead      State = "dead"      // the endpoint did not take it, in spite of all attempts
)

// Delivery is an event with the progress of its delivery to an endpoint.
type Delivery struct {
	Event    Event
	State    State
	Attempts int64     // failed attempts, of an event that is retrying or dead
	Failure  Failure   // the last attempt's
	DueAt    time.Time // when it is sent next, if it is retrying
	DeadAt   time.Time // when it became a dead letter; only in lists of dead letters
}

// DeliveryOf returns the delivery of an event. retry is its subject's, and dead its dead letter; nil if there is none.
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

// Admin has the operations of admins on endpoints that need more than the ledger.
type Admin struct {
	Endpoints Endpoints
	Log       Log
	Send      Sender
	// Never returns the reason why no message could ever be sent to a well-formed URL; the zero Failure if one could.
	// It judges by the URL's text, without looking up names.
	Never func(u *url.URL) Failure
	Now   func() time.Time
}

// Create makes an endpoint with a new secret. Errors: *invalid.Error, ErrEndpoints, order.ErrUnavailable.
func (a *Admin) Create(ctx context.Context, t Terms, by voucher.Author) (Endpoint, error) {
	t.Types = allNamed(t.Types)
	err := t.Check()
	if err == nil {
		err = checkReach(t.URL, a.Never)
	}
	if err != nil {
		return Endpoint{}, err
	}
	return a.Endpoints.CreateEndpoint(ctx, t, NewSecret(), by)
}

// Change lets change edit the endpoint's terms. An endpoint that is enabled again is tried at once, and goes on from
// its last position. Errors: *invalid.Error, ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Change(ctx context.Context, id int64, change func(*Terms), by voucher.Author) (Endpoint, error) {
	return a.Endpoints.ChangeEndpoint(ctx, id, voucher.Changed, by, func(e *Endpoint, now time.Time) error {
		was := e.Terms
		change(&e.Terms)
		e.Types = allNamed(e.Types)
		err := e.Check()
		if err == nil && e.URL != was.URL { // an old URL that is no longer allowed does not prevent other changes
			err = checkReach(e.URL, a.Never)
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

// Rotate gives the endpoint a new secret. The old secret also signs for OldSecretFor, so that the endpoint's owner has
// time to switch; until then Rotate returns ErrRotating. With atOnce, for a secret that was disclosed, the old secret
// stops signing now; events whose sending has begun may carry its signature for a minute more. Errors: ErrNoEndpoint,
// ErrRotating, order.ErrUnavailable.
func (a *Admin) Rotate(ctx context.Context, id int64, atOnce bool, by voucher.Author) (Endpoint, error) {
	fresh := NewSecret()
	return a.Endpoints.ChangeEndpoint(ctx, id, voucher.Rotated, by, func(e *Endpoint, now time.Time) error {
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

// testData is the data of a test event: it names the endpoint.
type testData struct {
	WebhookID int64 `json:"webhookId"`
}

// TestResult is the result of a test event.
type TestResult struct {
	ID      string // its webhook-id
	Took    time.Duration
	Failure Failure // the zero value: the event was taken
}

// Test sends a test event, once and before all waiting events, also to a disabled endpoint. The endpoint's answer is in
// the result. Errors: ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Test(ctx context.Context, id int64) (TestResult, error) {
	e, err := a.Endpoints.Endpoint(ctx, id)
	if err != nil {
		return TestResult{}, err
	}
	began := a.Now()
	result := TestResult{ID: fmt.Sprintf("test-%016x", rand.Uint64())} //nolint:gosec // it tells tests apart
	body, err := json.Marshal(payload{
		Version: payloadVersion, Type: Test, Timestamp: moment.Of(began), Data: testData{WebhookID: e.ID},
	})
	if err != nil {
		return TestResult{}, fmt.Errorf("the event that tries webhook endpoint %d: %w", id, err)
	}
	call, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	result.Failure = a.Send(call,
		Message{URL: e.URL, ID: result.ID, At: began, Body: body, Secrets: e.Secrets(began)}).Clip()
	if result.Took = a.Now().Sub(began); result.Failure.Code != "" && errors.Is(ctx.Err(), context.Canceled) {
		return TestResult{}, ctx.Err()
	}
	return result, nil
}

// Delivery returns one event as Log.Delivery does. Errors: *invalid.Error, ErrNoEndpoint, order.ErrUnavailable.
func (a *Admin) Delivery(ctx context.Context, id int64, eventID string, before int64) ([]Delivery, error) {
	event, err := ParseEventID(eventID)
	if err != nil {
		return nil, err
	}
	return a.Log.Delivery(ctx, id, event, before)
}

// ReplayEvent has an event and all later events of its subject sent again, so that the endpoint ends with the subject's
// last state. Errors: *invalid.Error, ErrNoEndpoint, ErrNoEvent, order.ErrUnavailable.
func (a *Admin) ReplayEvent(ctx context.Context, id int64, eventID string, by voucher.Author) error {
	event, err := ParseEventID(eventID)
	if err != nil {
		return err
	}
	return a.Log.ReplayEvent(ctx, id, event, by)
}

// ReplayTime has all events of a period sent again, beside new ones. If to is zero, the period ends now. It returns
// how many events will be sent at most. Errors: *invalid.Error, ErrNoEndpoint, ErrNoEvent, order.ErrUnavailable.
func (a *Admin) ReplayTime(ctx context.Context, id int64, from, to time.Time, by voucher.Author) (int64, error) {
	if to.IsZero() {
		to = time.UnixMilli(math.MaxInt32 * 1000 * 2).UTC() // after everything
	}
	if !from.Before(to) {
		return 0, invalid.Join(invalid.New("from", invalid.NotBeforeOther, invalid.BeforeOther,
			invalid.Data{"other": "to"}))
	}
	return a.Log.ReplayTime(ctx, id, from, to, by)
}

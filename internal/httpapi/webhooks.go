package httpapi

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
	"seckill/internal/webhook"
)

// WebhookEndpoints is what admins decide about webhook endpoints: *webhook.Admin. Where an endpoint is named,
// webhook.ErrNoEndpoint may come back; everywhere order.ErrUnavailable.
type WebhookEndpoints interface {
	// Create makes an endpoint, with its secret. *invalid.Error, webhook.ErrEndpoints.
	Create(ctx context.Context, t webhook.Terms, by voucher.Author) (webhook.Endpoint, error)
	// List returns all endpoints, oldest first.
	List(ctx context.Context) ([]webhook.Endpoint, error)
	// Change changes what change does in the endpoint's terms. *invalid.Error.
	Change(ctx context.Context, id int64, change func(*webhook.Terms), by voucher.Author) (webhook.Endpoint, error)
	// Rotate gives the endpoint a new secret; the old one signs too for a day, or with atOnce no longer.
	// webhook.ErrRotating.
	Rotate(ctx context.Context, id int64, atOnce bool, by voucher.Author) (webhook.Endpoint, error)
	// Delete deletes an endpoint.
	Delete(ctx context.Context, id int64, by voucher.Author) error
	// Test sends a test event, once.
	Test(ctx context.Context, id int64) (webhook.TestResult, error)
}

// WebhookLog is what was sent and is still to be sent: *webhook.Admin. Its errors are those of WebhookEndpoints.
type WebhookLog interface {
	// Deliveries returns events with numbers below before, newest first.
	Deliveries(ctx context.Context, id, before int64, n int) ([]webhook.Delivery, error)
	// DeadLetters returns dead letters with numbers below before, newest first.
	DeadLetters(ctx context.Context, id, before int64, n int) ([]webhook.DeadLetter, error)
	// ReplayEvent has one event sent again. *invalid.Error, webhook.ErrNoEvent.
	ReplayEvent(ctx context.Context, id int64, eventID string, by voucher.Author) error
	// ReplayTime has the events of a time sent again; a zero to is now. *invalid.Error, webhook.ErrNoEvent.
	ReplayTime(ctx context.Context, id int64, from, to time.Time, by voucher.Author) (int64, error)
}

// Webhooks is both.
type Webhooks interface {
	WebhookEndpoints
	WebhookLog
}

// listWebhooks answers GET /admin/webhook.
func (a *API) listWebhooks(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	if err := invalid.Join(badQuery, values.Only()); err != nil {
		return httpkit.Answer{}, err
	}
	endpoints, err := a.cfg.Webhooks.List(c.Request.Context())
	if err != nil {
		return httpkit.Answer{}, err
	}
	views, l := make([]endpointJSON, len(endpoints)), a.speak(c)
	for i, e := range endpoints {
		views[i] = endpointView(e, l)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views}}, nil
}

// createWebhook answers POST /admin/webhook. The secret is in this answer, and in that of a rotation, and nowhere else.
func (a *API) createWebhook(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var t webhook.Terms
	var description, types *string
	var disabled *bool
	err := a.bodies.Read(c, jsonbody.Required(jsonbody.Integer("shopId", &t.ShopID)),
		jsonbody.Required(jsonbody.Text("url", &t.URL)), jsonbody.Optional(jsonbody.Text, "description", &description),
		jsonbody.Optional(jsonbody.Text, "types", &types), jsonbody.Optional(jsonbody.Bool, "disabled", &disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	changeTerms(&t, nil, description, types, disabled)
	e, err := a.cfg.Webhooks.Create(c.Request.Context(), t, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusCreated, Envelope: httpkit.Envelope{Data: secretView(e, a.speak(c))}}, nil
}

// changeWebhook answers PATCH /admin/webhook/:id: what is absent stays.
func (a *API) changeWebhook(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := webhookID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var address, description, types *string
	var disabled *bool
	err = a.bodies.Read(c, jsonbody.Optional(jsonbody.Text, "url", &address), jsonbody.Optional(jsonbody.Text,
		"description", &description),
		jsonbody.Optional(jsonbody.Text, "types", &types), jsonbody.Optional(jsonbody.Bool, "disabled", &disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	e, err := a.cfg.Webhooks.Change(c.Request.Context(), id,
		func(t *webhook.Terms) { changeTerms(t, address, description, types, disabled) }, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: endpointView(e, a.speak(c))}}, nil
}

// changeTerms copies what is given into the terms.
func changeTerms(t *webhook.Terms, address, description, types *string, disabled *bool) {
	if address != nil {
		t.URL = *address
	}
	if description != nil {
		t.Description = *description
	}
	if types != nil {
		t.Types = nil
		for name := range strings.SplitSeq(*types, ",") {
			if name = strings.TrimSpace(name); name != "" {
				t.Types = append(t.Types, webhook.Type(name))
			}
		}
	}
	if disabled != nil {
		t.Disabled = *disabled
	}
}

func webhookID(c *gin.Context) (int64, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	return id, invalid.Join(bad)
}

// rotateWebhook answers POST /admin/webhook/:id/rotate.
func (a *API) rotateWebhook(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := webhookID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var atOnce *bool
	if err := a.bodies.Read(c, jsonbody.Optional(jsonbody.Bool, "atOnce", &atOnce)); err != nil {
		return httpkit.Answer{}, err
	}
	e, err := a.cfg.Webhooks.Rotate(c.Request.Context(), id, atOnce != nil && *atOnce, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: secretView(e, a.speak(c))}}, nil
}

// deleteWebhook answers POST /admin/webhook/:id/delete.
func (a *API) deleteWebhook(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := webhookID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	if err := a.cfg.Webhooks.Delete(c.Request.Context(), id, httpkit.Author(c, who)); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: struct{}{}}}, nil
}

// testWebhook answers POST /admin/webhook/:id/test. It waits for the endpoint, ten seconds at most, and holds no
// share of a store meanwhile.
func (a *API) testWebhook(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, err := webhookID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	result, err := a.cfg.Webhooks.Test(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	view := testJSON{
		Event: result.ID, Taken: result.Failure == (webhook.Failure{}), TookMillis: result.Took.Milliseconds(),
		failed: failedView(result.Failure, a.speak(c)),
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: view}}, nil
}

// listDeliveries answers GET /admin/webhook/:id/delivery: events, newest first, in pages.
func (a *API) listDeliveries(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, before, n, err := webhookPage(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	// One more shows whether a page follows.
	deliveries, err := a.cfg.Webhooks.Deliveries(c.Request.Context(), id, before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	next := ""
	if len(deliveries) > n {
		deliveries = deliveries[:n]
		next = strconv.FormatInt(deliveries[n-1].Event.Number, 10)
	}
	views, l := make([]deliveryJSON, len(deliveries)), a.speak(c)
	for i, d := range deliveries {
		views[i] = deliveryView(d, l)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Next: next}}, nil
}

// listWebhookDeadLetters answers GET /admin/webhook/:id/deadletter: dead letters, newest first, in pages.
func (a *API) listWebhookDeadLetters(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, before, n, err := webhookPage(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	// One more shows whether a page follows.
	letters, err := a.cfg.Webhooks.DeadLetters(c.Request.Context(), id, before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	next := ""
	if len(letters) > n {
		letters = letters[:n]
		next = strconv.FormatInt(letters[n-1].Number, 10)
	}
	views, l := make([]deliveryJSON, len(letters)), a.speak(c)
	for i, letter := range letters {
		views[i] = deliveryView(webhook.Delivery{
			Event: letter.Event, State: webhook.Dead, Attempts: letter.Attempts, Failure: letter.Failure,
		}, l)
		views[i].DeadTime = httpkit.TimeView(letter.At)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Next: next}}, nil
}

func webhookPage(c *gin.Context) (id, before int64, n int, err error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	before, badBefore := values.Before()
	return id, before, n, invalid.Join(badID, badQuery, badLimit, badBefore, values.Only("limit", "before"))
}

// replayWebhook answers POST /admin/webhook/:id/replay: one event, or those of a time.
func (a *API) replayWebhook(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := webhookID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var event *string
	var from, to *time.Time
	at := func(name string, into *time.Time) jsonbody.Field { return jsonbody.Time(name, into, a.cfg.Zone) }
	err = a.bodies.Read(c, jsonbody.Optional(jsonbody.Text, "event", &event), jsonbody.Optional(at, "from", &from),
		jsonbody.Optional(at, "to", &to))
	if err != nil {
		return httpkit.Answer{}, err
	}
	ctx, events := c.Request.Context(), int64(1)
	switch {
	case (event == nil) == (from == nil), event != nil && to != nil:
		return httpkit.Answer{}, invalid.Join(invalid.New("event", invalid.BothOrNeither, invalid.EventOrTimes,
			invalid.Data{"other": "from"}))
	case event != nil:
		err = a.cfg.Webhooks.ReplayEvent(ctx, id, *event, httpkit.Author(c, who))
	default:
		var end time.Time
		if to != nil {
			end = *to
		}
		events, err = a.cfg.Webhooks.ReplayTime(ctx, id, *from, end, httpkit.Author(c, who))
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusAccepted, Envelope: httpkit.Envelope{Data: replayedJSON{Events: events}}},
		nil
}

// endpointJSON is a webhook endpoint as admins read it.
type endpointJSON struct {
	ID             int64               `json:"id"`
	ShopID         int64               `json:"shopId"` // 0: all shops
	URL            string              `json:"url"`
	Description    string              `json:"description"`
	Types          string              `json:"types"` // comma-separated; empty: all
	Disabled       bool                `json:"disabled"`
	DisabledTime   *time.Time          `json:"disabledTime,omitempty"`
	DisabledWhy    string              `json:"disabledWhy,omitempty"` // in the caller's language
	DisabledCode   webhook.FailureCode `json:"disabledCode,omitempty"`
	CreateTime     time.Time           `json:"createTime"`
	OldSecretUntil *time.Time          `json:"oldSecretUntil,omitempty"` // until then the secret before signs too
	Failures       int64               `json:"failures"`                 // since the last success
	FailingSince   *time.Time          `json:"failingSince,omitempty"`
	RetryTime      *time.Time          `json:"retryTime,omitempty"` // when it is tried next, of one that fails
	SuccessTime    *time.Time          `json:"successTime,omitempty"`
	LastError      string              `json:"lastError,omitempty"` // in the caller's language
	LastFailure    *webhook.Failure    `json:"lastFailure,omitempty"`
	Replaying      bool                `json:"replaying"`
	// Secret is there when it is new.
	Secret webhook.Secret `json:"secret,omitempty"`
}

func endpointView(e webhook.Endpoint, l words.Language) endpointJSON {
	last := failedView(e.LastFailure, l)
	names := make([]string, len(e.Types))
	for i, t := range e.Types {
		names[i] = string(t)
	}
	return endpointJSON{
		ID: e.ID, ShopID: e.ShopID, URL: e.URL, Description: e.Description, Types: strings.Join(names, ","),
		Disabled: e.Disabled, DisabledTime: httpkit.TimeView(e.DisabledAt),
		DisabledWhy: e.DisabledWhy.In(l), DisabledCode: e.DisabledWhy,
		CreateTime: httpkit.ShownTime(e.CreatedAt), OldSecretUntil: httpkit.TimeView(e.OldSecretUntil),
		Failures: e.Health.Failures, FailingSince: httpkit.TimeView(e.Health.FailingSince),
		RetryTime: httpkit.TimeView(e.Health.RetryAt), SuccessTime: httpkit.TimeView(e.SuccessAt),
		LastError: last.Error, LastFailure: last.Failure, Replaying: e.Replaying(),
	}
}

func secretView(e webhook.Endpoint, l words.Language) endpointJSON {
	v := endpointView(e, l)
	v.Secret = e.Secret
	return v
}

// failed is why an attempt failed: in the caller's language, and as code and data.
type failed struct {
	Error   string           `json:"error,omitempty"`
	Failure *webhook.Failure `json:"failure,omitempty"`
}

func failedView(f webhook.Failure, l words.Language) failed {
	if f == (webhook.Failure{}) {
		return failed{}
	}
	return failed{Error: f.In(l), Failure: &f}
}

// deliveryJSON is an event and how far its delivery to an endpoint has got.
type deliveryJSON struct {
	Event    string        `json:"event"`  // its webhook-id
	Number   string        `json:"number"` // a string, as it is the cursor of the pages
	Type     webhook.Type  `json:"type"`
	OrderID  string        `json:"orderId,omitempty"`
	OfferID  string        `json:"offerId,omitempty"` // of an event of an offer
	At       time.Time     `json:"at"`
	State    webhook.State `json:"state"`
	Attempts int64         `json:"attempts,omitempty"` // that failed
	failed                 // of the last one
	DueTime  *time.Time    `json:"dueTime,omitempty"`  // when it is sent next
	DeadTime *time.Time    `json:"deadTime,omitempty"` // when it became a dead letter
}

func deliveryView(d webhook.Delivery, l words.Language) deliveryJSON {
	v := deliveryJSON{
		Event: d.Event.ID(), Number: strconv.FormatInt(d.Event.Number, 10), Type: d.Event.Type,
		At: httpkit.ShownTime(d.Event.At), State: d.State, Attempts: d.Attempts, failed: failedView(d.Failure, l),
		DueTime: httpkit.TimeView(d.DueAt),
	}
	if offer, is := d.Event.Offer(); is {
		v.OfferID = offer.String()
	} else {
		v.OrderID = strconv.FormatInt(d.Event.OrderID, 10)
	}
	return v
}

// testJSON is what came of a test event.
type testJSON struct {
	Event      string `json:"event"` // its webhook-id
	Taken      bool   `json:"taken"`
	TookMillis int64  `json:"tookMillis"`
	failed
}

// replayedJSON is how many events are sent again, at most: those of other shops and types are counted and left out.
type replayedJSON struct {
	Events int64 `json:"events"`
}

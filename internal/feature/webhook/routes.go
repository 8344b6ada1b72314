package webhook

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// EndpointReader shows endpoints: *dispatch.Admin. Its errors are those of EndpointAdmin.
type EndpointReader interface {
	// Find returns an endpoint.
	Find(ctx context.Context, id int64) (dispatch.Endpoint, error)
	// List returns all endpoints, oldest first.
	List(ctx context.Context) ([]dispatch.Endpoint, error)
}

// EndpointAdmin changes endpoints for admins: *dispatch.Admin. Methods with an endpoint's id may return
// dispatch.ErrNoEndpoint; all may return order.ErrUnavailable.
type EndpointAdmin interface {
	// Create makes an endpoint, with its secret, once for each key of the author. Errors: *invalid.Error,
	// dispatch.ErrEndpoints, *idempotency.RepeatedError, idempotency.ErrReused.
	Create(ctx context.Context, t dispatch.Terms, by voucher.Author) (dispatch.Endpoint, error)
	// Change lets change edit the endpoint's terms. Error: *invalid.Error.
	Change(ctx context.Context, id int64, change func(*dispatch.Terms), by voucher.Author) (dispatch.Endpoint, error)
	// Rotate gives the endpoint a new secret. For another day the old one signs, too, unless atOnce is set.
	// Error: dispatch.ErrRotating.
	Rotate(ctx context.Context, id int64, atOnce bool, by voucher.Author) (dispatch.Endpoint, error)
	// Delete deletes an endpoint.
	Delete(ctx context.Context, id int64, by voucher.Author) error
	// Test sends a test event, once.
	Test(ctx context.Context, id int64) (dispatch.TestResult, error)
}

// LogAdmin reads and replays what was sent and is still to be sent: *dispatch.Admin. Its errors are those of
// EndpointAdmin.
type LogAdmin interface {
	// Deliveries returns events with numbers below before, newest first.
	Deliveries(ctx context.Context, id, before int64, n int) ([]dispatch.Delivery, error)
	// DeadLetters returns dead letters with numbers below before, newest first.
	DeadLetters(ctx context.Context, id, before int64, n int) ([]dispatch.DeadLetter, error)
	// ReplayEvent requests that one event is sent again. Errors: *invalid.Error, dispatch.ErrNoEvent.
	ReplayEvent(ctx context.Context, id int64, eventID string, by voucher.Author) error
	// ReplayTime requests that the events of a period are sent again; if to is zero, the period ends now.
	// Errors: *invalid.Error, dispatch.ErrNoEvent.
	ReplayTime(ctx context.Context, id int64, from, to time.Time, by voucher.Author) (int64, error)
}

// Service is all of them.
type Service interface {
	EndpointReader
	EndpointAdmin
	LogAdmin
}

// Routes are the routes of webhooks.
func Routes(admin Service, front httpkit.Front) []httpkit.Route {
	h, page := handlers{admin, front}, httpkit.Query("limit", "before")
	return []httpkit.Route{
		httpkit.Staff("GET /admin/webhook", h.list, httpkit.ByHandler),
		httpkit.Staff("POST /admin/webhook", h.create, httpkit.ByHandler, httpkit.Body,
			httpkit.Keyed(h.createdBefore)),
		httpkit.Staff("GET /admin/webhook/:id", h.one, h.own),
		httpkit.Staff("PATCH /admin/webhook/:id", h.change, h.own, httpkit.Body),
		httpkit.Staff("DELETE /admin/webhook/:id", h.delete, h.own),
		httpkit.Staff("POST /admin/webhook/:id/rotate", h.rotate, h.own, httpkit.Body),
		httpkit.Staff("POST /admin/webhook/:id/test", h.test, h.own),
		httpkit.Staff("GET /admin/webhook/:id/delivery", h.deliveries, h.own, page),
		httpkit.Staff("GET /admin/webhook/:id/deadletter", h.deadLetters, h.own, page),
		httpkit.Staff("POST /admin/webhook/:id/replay", h.replay, h.own, httpkit.Body),
	}
}

type handlers struct {
	admin Service
	front httpkit.Front
}

// own returns dispatch.ErrNoEndpoint unless the endpoint in the path belongs to the shop.
func (h handlers) own(c *gin.Context, shop int64) error {
	id, err := endpointID(c)
	if err != nil {
		return err
	}
	e, err := h.admin.Find(c.Request.Context(), id)
	if err == nil && e.ShopID != shop {
		err = dispatch.ErrNoEndpoint
	}
	return err
}

// list answers GET /admin/webhook: all endpoints, or those of a merchant's shop.
func (h handlers) list(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	endpoints, err := h.admin.List(c.Request.Context())
	if err != nil {
		return httpkit.Answer{}, err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e dispatch.Endpoint) bool {
		return who.Only() != 0 && e.ShopID != who.Only()
	})
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		views := make([]endpointJSON, len(endpoints))
		for i, e := range endpoints {
			views[i] = endpointView(e, in)
		}
		return views
	}}, nil
}

// one answers GET /admin/webhook/:id.
func (h handlers) one(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.admin.Find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusOK, Speak: func(in words.Language) any { return endpointView(e, in) },
	}, nil
}

// create answers POST /admin/webhook. The secret is in this answer, and in that of a rotation, and nowhere else.
func (h handlers) create(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var t dispatch.Terms
	var description, types *string
	var disabled *bool
	err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Integer("shopId", &t.ShopID)),
		jsonbody.Required(jsonbody.Text("url", &t.URL)), jsonbody.Optional(jsonbody.Text, "description", &description),
		jsonbody.Optional(jsonbody.Text, "types", &types), jsonbody.Optional(jsonbody.Bool, "disabled", &disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if t.ShopID, err = who.Within(t.ShopID); err != nil {
		return httpkit.Answer{}, err
	}
	changeTerms(&t, nil, description, types, disabled)
	e, err := h.admin.Create(c.Request.Context(), t, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusCreated, Speak: func(in words.Language) any { return secretView(e, in) },
	}, nil
}

// createdBefore answers a repeated POST /admin/webhook, without the secret. An admin who did not get it can rotate it.
func (h handlers) createdBefore(c *gin.Context, who httpkit.Identity, made string) (httpkit.Answer, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("the endpoint of an idempotency key: %w", err)
	}
	e, err := h.admin.Find(c.Request.Context(), id)
	switch {
	case errors.Is(err, dispatch.ErrNoEndpoint):
		return httpkit.Answer{}, idempotency.ErrGone
	case err != nil:
		return httpkit.Answer{}, err
	}
	if _, err := who.Within(e.ShopID); err != nil { // they created it as a merchant of another shop
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusCreated, Speak: func(in words.Language) any { return endpointView(e, in) },
	}, nil
}

// change answers PATCH /admin/webhook/:id. Fields that are absent stay unchanged.
func (h handlers) change(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var address, description, types *string
	var disabled *bool
	err = h.front.Bodies.Read(c, jsonbody.Optional(jsonbody.Text, "url", &address), jsonbody.Optional(jsonbody.Text,
		"description", &description),
		jsonbody.Optional(jsonbody.Text, "types", &types), jsonbody.Optional(jsonbody.Bool, "disabled", &disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.admin.Change(c.Request.Context(), id,
		func(t *dispatch.Terms) { changeTerms(t, address, description, types, disabled) }, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusOK, Speak: func(in words.Language) any { return endpointView(e, in) },
	}, nil
}

// changeTerms copies what is given into the terms.
func changeTerms(t *dispatch.Terms, address, description, types *string, disabled *bool) {
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
				t.Types = append(t.Types, dispatch.Type(name))
			}
		}
	}
	if disabled != nil {
		t.Disabled = *disabled
	}
}

func endpointID(c *gin.Context) (int64, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	return id, invalid.Join(bad)
}

// rotate answers POST /admin/webhook/:id/rotate.
func (h handlers) rotate(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var atOnce *bool
	if err := h.front.Bodies.Read(c, jsonbody.Optional(jsonbody.Bool, "atOnce", &atOnce)); err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.admin.Rotate(c.Request.Context(), id, atOnce != nil && *atOnce, httpkit.Author(c, who))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusOK, Speak: func(in words.Language) any { return secretView(e, in) },
	}, nil
}

// delete answers DELETE /admin/webhook/:id.
func (h handlers) delete(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	if err := h.admin.Delete(c.Request.Context(), id, httpkit.Author(c, who)); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: struct{}{}}}, nil
}

// test answers POST /admin/webhook/:id/test. It waits for the endpoint, ten seconds at most, and holds no permit of a
// store meanwhile.
func (h handlers) test(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	result, err := h.admin.Test(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		return testJSON{
			EventID: result.ID, Taken: result.Failure == (dispatch.Failure{}), TookMillis: result.Took.Milliseconds(),
			failed: failedView(result.Failure, in),
		}
	}}, nil
}

// deliveries answers GET /admin/webhook/:id/delivery: events, newest first, in pages.
func (h handlers) deliveries(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, before, n, err := pageOf(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	// One more shows whether a page follows.
	deliveries, err := h.admin.Deliveries(c.Request.Context(), id, before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	next := ""
	if len(deliveries) > n {
		deliveries = deliveries[:n]
		next = strconv.FormatInt(deliveries[n-1].Event.Number, 10)
	}
	page := httpkit.Envelope{Next: next}
	return httpkit.Answer{Status: http.StatusOK, Envelope: page, Speak: func(in words.Language) any {
		views := make([]deliveryJSON, len(deliveries))
		for i, d := range deliveries {
			views[i] = deliveryView(d, in)
		}
		return views
	}}, nil
}

// deadLetters answers GET /admin/webhook/:id/deadletter: dead letters, newest first, in pages.
func (h handlers) deadLetters(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, before, n, err := pageOf(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	// One more shows whether a page follows.
	letters, err := h.admin.DeadLetters(c.Request.Context(), id, before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	next := ""
	if len(letters) > n {
		letters = letters[:n]
		next = strconv.FormatInt(letters[n-1].Number, 10)
	}
	page := httpkit.Envelope{Next: next}
	return httpkit.Answer{Status: http.StatusOK, Envelope: page, Speak: func(in words.Language) any {
		views := make([]deliveryJSON, len(letters))
		for i, letter := range letters {
			views[i] = deliveryView(dispatch.Delivery{
				Event: letter.Event, State: dispatch.Dead, Attempts: letter.Attempts, Failure: letter.Failure,
			}, in)
			views[i].DeadTime = httpkit.TimeView(letter.At)
		}
		return views
	}}, nil
}

func pageOf(c *gin.Context) (id, before int64, n int, err error) {
	id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	before, badBefore := values.Before()
	return id, before, n, invalid.Join(badID, badQuery, badLimit, badBefore)
}

// replay answers POST /admin/webhook/:id/replay: one event, or all events of a period, will be sent again.
func (h handlers) replay(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := endpointID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var event *string
	var from, to *time.Time
	at := func(name string, into *time.Time) jsonbody.Field { return jsonbody.Time(name, into, h.front.Zone) }
	err = h.front.Bodies.Read(c, jsonbody.Optional(jsonbody.Text, "eventId", &event),
		jsonbody.Optional(at, "from", &from), jsonbody.Optional(at, "to", &to))
	if err != nil {
		return httpkit.Answer{}, err
	}
	ctx, events := c.Request.Context(), int64(1)
	switch {
	case (event == nil) == (from == nil), event != nil && to != nil:
		return httpkit.Answer{}, invalid.Join(invalid.New("eventId", invalid.BothOrNeither, invalid.EventOrTimes,
			invalid.Data{"other": "from"}))
	case event != nil:
		err = h.admin.ReplayEvent(ctx, id, *event, httpkit.Author(c, who))
	default:
		var end time.Time
		if to != nil {
			end = *to
		}
		events, err = h.admin.ReplayTime(ctx, id, *from, end, httpkit.Author(c, who))
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusAccepted, Envelope: httpkit.Envelope{Data: replayedJSON{Events: events}}},
		nil
}

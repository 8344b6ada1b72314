package webhook

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
)

// Routes returns the routes of webhooks.
func Routes(admin *dispatch.Admin, front httpkit.Front) []httpkit.Route {
	h, page := handlers{admin, front}, httpkit.Query("limit", "before")
	return []httpkit.Route{
		httpkit.Staff("GET /admin/webhook", h.list, httpkit.ByHandler),
		httpkit.Staff("POST /admin/webhook", h.create, httpkit.ByHandler, httpkit.Body,
			httpkit.Keyed(h.createdBefore)),
		httpkit.Staff("GET /admin/webhook/:id", httpkit.ByID(h.one), h.own),
		httpkit.Staff("PATCH /admin/webhook/:id", httpkit.ByID(h.change), h.own, httpkit.Body),
		httpkit.Staff("DELETE /admin/webhook/:id", httpkit.ByID(h.delete), h.own),
		httpkit.Staff("POST /admin/webhook/:id/rotate", httpkit.ByID(h.rotate), h.own, httpkit.Body),
		httpkit.Staff("POST /admin/webhook/:id/test", httpkit.ByID(h.test), h.own),
		httpkit.Staff("GET /admin/webhook/:id/delivery", h.deliveries, h.own,
			httpkit.Query("limit", "before", "eventId")),
		httpkit.Staff("GET /admin/webhook/:id/deadletter", pageOf(admin.Log.DeadLetters), h.own, page),
		httpkit.Staff("POST /admin/webhook/:id/replay", httpkit.ByID(h.replay), h.own, httpkit.Body),
	}
}

type handlers struct {
	admin *dispatch.Admin
	front httpkit.Front
}

// own returns dispatch.ErrNoEndpoint unless the endpoint in the path belongs to the shop.
func (h handlers) own(c *gin.Context, shop int64) error {
	id, err := httpkit.PathID(c)
	if err != nil {
		return err
	}
	e, err := h.admin.Endpoints.Endpoint(c.Request.Context(), id)
	if err == nil && e.ShopID != shop {
		err = dispatch.ErrNoEndpoint
	}
	return err
}

// list answers GET /admin/webhook: all endpoints, or those of a merchant's shop.
func (h handlers) list(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	endpoints, err := h.admin.Endpoints.Endpoints(c.Request.Context())
	if err != nil {
		return httpkit.Answer{}, err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e dispatch.Endpoint) bool {
		return who.Only() != 0 && e.ShopID != who.Only()
	})
	names := httpkit.ShopNames(c.Request.Context(), h.front.Members, endpoints,
		func(e dispatch.Endpoint) int64 { return e.ShopID })
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		views := make([]endpointJSON, len(endpoints))
		for i, e := range endpoints {
			views[i] = endpointView(e, in)
			views[i].ShopName = names[e.ShopID]
		}
		return views
	}}, nil
}

// shown returns the answer with an endpoint in the form that view gives it.
func shown(
	status int, view func(dispatch.Endpoint, words.Language) endpointJSON, e dispatch.Endpoint, err error,
) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: status, Speak: func(in words.Language) any { return view(e, in) }}, nil
}

// one answers GET /admin/webhook/:id.
func (h handlers) one(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	e, err := h.admin.Endpoints.Endpoint(c.Request.Context(), id)
	return shown(http.StatusOK, endpointView, e, err)
}

// create answers POST /admin/webhook. Only this answer and the answer to a rotation contain the secret.
func (h handlers) create(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var t dispatch.Terms
	var types string
	err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Integer("shopId", &t.ShopID)),
		jsonbody.Required(jsonbody.Text("url", &t.URL)), jsonbody.Text("description", &t.Description),
		jsonbody.Text("types", &types), jsonbody.Bool("disabled", &t.Disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if only := who.Only(); only != 0 && t.ShopID != only { // 0, all shops, is no filter here
		return httpkit.Answer{}, httpkit.ErrNoShop
	}
	t.Types = dispatch.ParseTypes(types)
	e, err := h.admin.Create(c.Request.Context(), t, httpkit.Author(c, who))
	return shown(http.StatusCreated, secretView, e, err)
}

// createdBefore answers a repeated POST /admin/webhook, without the secret. An admin who did not get it can rotate it.
func (h handlers) createdBefore(c *gin.Context, who httpkit.Identity, made string) (httpkit.Answer, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("the endpoint of an idempotency key: %w", err)
	}
	e, err := h.admin.Endpoints.Endpoint(c.Request.Context(), id)
	if errors.Is(err, dispatch.ErrNoEndpoint) {
		err = idempotency.ErrGone
	}
	if err == nil {
		_, err = who.Within(e.ShopID) // the caller may have been a merchant of another shop then
	}
	return shown(http.StatusCreated, endpointView, e, err)
}

// change answers PATCH /admin/webhook/:id. Fields that are absent stay unchanged.
func (h handlers) change(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var address, description, types *string
	var disabled *bool
	err := h.front.Bodies.Read(c, jsonbody.Optional(jsonbody.Text, "url", &address),
		jsonbody.Optional(jsonbody.Text, "description", &description),
		jsonbody.Optional(jsonbody.Text, "types", &types), jsonbody.Optional(jsonbody.Bool, "disabled", &disabled))
	if err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.admin.Change(c.Request.Context(), id,
		func(t *dispatch.Terms) {
			if address != nil {
				t.URL = *address
			}
			if description != nil {
				t.Description = *description
			}
			if types != nil {
				t.Types = dispatch.ParseTypes(*types)
			}
			if disabled != nil {
				t.Disabled = *disabled
			}
		}, httpkit.Author(c, who))
	return shown(http.StatusOK, endpointView, e, err)
}

// rotate answers POST /admin/webhook/:id/rotate.
func (h handlers) rotate(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var atOnce bool
	if err := h.front.Bodies.Read(c, jsonbody.Bool("atOnce", &atOnce)); err != nil {
		return httpkit.Answer{}, err
	}
	e, err := h.admin.Rotate(c.Request.Context(), id, atOnce, httpkit.Author(c, who))
	return shown(http.StatusOK, secretView, e, err)
}

// delete answers DELETE /admin/webhook/:id.
func (h handlers) delete(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	err := h.admin.Endpoints.DeleteEndpoint(c.Request.Context(), id, httpkit.Author(c, who))
	return httpkit.Data(http.StatusOK, struct{}{}, err)
}

// test answers POST /admin/webhook/:id/test. It waits for the endpoint, ten seconds at most, and holds no permit of a
// store meanwhile.
func (h handlers) test(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
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

// deliveries answers GET /admin/webhook/:id/delivery: all events for the endpoint, or one.
func (h handlers) deliveries(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, _ := param.ParseQuery(c.Request) // pageOf returns the problem
	event, given, badEvent := values.Text("eventId")
	if badEvent != nil {
		return httpkit.Answer{}, invalid.Join(badEvent)
	}
	read := h.admin.Log.Deliveries
	if given {
		read = func(ctx context.Context, id, before int64, _ int) ([]dispatch.Delivery, int64, error) {
			found, err := h.admin.Delivery(ctx, id, event, before)
			return found, 0, err
		}
	}
	return pageOf(read)(c, who)
}

// pageOf answers GET /admin/webhook/:id/delivery and .../deadletter: events, newest first, in pages.
func pageOf(
	read func(ctx context.Context, id, before int64, n int) ([]dispatch.Delivery, int64, error),
) httpkit.Handler {
	return func(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
		id, badID := param.ID("id", c.Param("id"), math.MaxInt64)
		values, badQuery := param.ParseQuery(c.Request)
		n, badLimit := values.Limit()
		before, badBefore := values.Before()
		if err := invalid.Join(badID, badQuery, badLimit, badBefore); err != nil {
			return httpkit.Answer{}, err
		}
		deliveries, next, err := read(c.Request.Context(), id, before, n)
		if err != nil {
			return httpkit.Answer{}, err
		}
		var page httpkit.Envelope
		if next != 0 {
			page.Next = strconv.FormatInt(next, 10)
		}
		return httpkit.Answer{Status: http.StatusOK, Envelope: page, Speak: func(in words.Language) any {
			views := make([]deliveryJSON, len(deliveries))
			for i, d := range deliveries {
				views[i] = deliveryView(d, in)
			}
			return views
		}}, nil
	}
}

// The reasons and allowed values that only replay uses.
var (
	bothOrNeither = invalid.NewReason("BOTH_OR_NEITHER", "and {other} are both given, or neither is",
		"与{other}须且只能填写一项")
	eventOrTimes = invalid.NewAllowed("EVENT_OR_TIMES", "eventId, or from with or without to",
		"eventId，或 from（to 可选）")
)

// replay answers POST /admin/webhook/:id/replay: one event, or all events of a period, will be sent again.
func (h handlers) replay(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var event *string
	var from, to *time.Time
	at := func(name string, into *time.Time) jsonbody.Field { return jsonbody.Time(name, into, h.front.Zone) }
	err := h.front.Bodies.Read(c, jsonbody.Optional(jsonbody.Text, "eventId", &event),
		jsonbody.Optional(at, "from", &from), jsonbody.Optional(at, "to", &to))
	if err != nil {
		return httpkit.Answer{}, err
	}
	ctx, events := c.Request.Context(), int64(1)
	switch {
	case (event == nil) == (from == nil), event != nil && to != nil:
		return httpkit.Answer{}, invalid.Join(invalid.New("eventId", bothOrNeither, eventOrTimes,
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
	return httpkit.Data(http.StatusAccepted, replayedJSON{Events: events}, err)
}

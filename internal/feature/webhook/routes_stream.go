package webhook

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
)

// StreamRoutes returns the route of the stream of events.
func StreamRoutes(events *dispatch.Reader) []httpkit.Route {
	return []httpkit.Route{
		httpkit.Staff("GET /admin/event", streamOf(events), httpkit.ByHandler, httpkit.Query("after", "type", "limit")),
	}
}

// eventJSON is the JSON form of an event in the stream.
type eventJSON struct {
	EventID string          `json:"eventId"` // its webhook-id
	ShopID  int64           `json:"shopId"`  // 0: not known
	Body    json.RawMessage `json:"body"`    // as endpoints get it
}

// streamOf answers GET /admin/event: events of all shops, or of a merchant's, in the order of their commits.
func streamOf(events *dispatch.Reader) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		values, badQuery := param.ParseQuery(c.Request)
		n, badLimit := values.Limit()
		text, _, badAfter := values.Text("after")
		types, _, badTypes := values.Text("type")
		after, badCursor := dispatch.ParseAfter(text)
		q := dispatch.StreamQuery{ShopID: who.Only(), After: after, Types: dispatch.ParseTypes(types), Limit: n}
		if err := invalid.Join(badQuery, badLimit, badAfter, badTypes, badCursor, q.Check()); err != nil {
			return httpkit.Answer{}, err
		}
		page, err := events.Read(c.Request.Context(), q)
		if err != nil {
			return httpkit.Answer{}, err
		}
		views := make([]eventJSON, len(page.Events))
		for i, e := range page.Events {
			views[i] = eventJSON{EventID: e.ID(), ShopID: e.ShopID, Body: e.Body}
		}
		return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{
			Data: views, Next: page.Next.String(), Further: page.More,
		}}, nil
	}
}

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
func StreamRoutes(events *dispatch.Reader, members httpkit.Members) []httpkit.Route {
	return []httpkit.Route{
		httpkit.Staff("GET /admin/event", streamOf(events, members), httpkit.ByHandler,
			httpkit.Query("after", "before", "type", "limit")),
	}
}

// eventJSON is the JSON form of an event in the stream.
type eventJSON struct {
	EventID  string          `json:"eventId"`            // its webhook-id
	ShopID   int64           `json:"shopId"`             // 0: not known
	ShopName string          `json:"shopName,omitempty"` // absent: it has none
	Body     json.RawMessage `json:"body"`               // as endpoints get it
}

// streamOf answers GET /admin/event: events of all shops, or of a merchant's, in the order of their commits, or in that
// order backwards.
func streamOf(events *dispatch.Reader, members httpkit.Members) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		q, err := streamQuery(c.Request)
		if err != nil {
			return httpkit.Answer{}, err
		}
		q.ShopID = who.Only()
		page, err := events.Read(c.Request.Context(), q)
		if err != nil {
			return httpkit.Answer{}, err
		}
		views := make([]eventJSON, len(page.Events))
		names := httpkit.ShopNames(c.Request.Context(), members, page.Events,
			func(e dispatch.Event) int64 { return e.ShopID })
		for i, e := range page.Events {
			views[i] = eventJSON{EventID: e.ID(), ShopID: e.ShopID, ShopName: names[e.ShopID], Body: e.Body}
		}
		answer := httpkit.Envelope{Data: views}
		if !q.Back || page.More { // a list ends, the stream does not
			answer.Next = page.Next.String()
		}
		answer.Further = page.More && !q.Back
		return httpkit.Answer{Status: http.StatusOK, Envelope: answer}, nil
	}
}

// streamQuery reads the query. Its page begins at after, or ends at before.
func streamQuery(r *http.Request) (dispatch.StreamQuery, error) {
	values, badQuery := param.ParseQuery(r)
	n, badLimit := values.Limit()
	types, _, badTypes := values.Text("type")
	name := "after"
	text, forth, badAfter := values.Text(name)
	before, back, badBefore := values.Text("before")
	var both *invalid.Problem
	if back {
		if forth {
			both = invalid.New("before", invalid.BesideOther, invalid.OneOfTwo, invalid.Data{"other": name})
		}
		name, text = "before", before
	}
	at, badCursor := dispatch.ParseAfter(name, text)
	q := dispatch.StreamQuery{After: at, Back: back, Types: dispatch.ParseTypes(types), Limit: n}
	return q, invalid.Join(badQuery, badLimit, badTypes, badAfter, badBefore, both, badCursor, q.Check())
}

package guard

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// Give issues tickets: Tickets.Give.
type Give func(ctx context.Context, voucherID int64, c Caller, solution string) (Ticket, error)

// Routes returns the routes of tickets.
func Routes(give Give, front httpkit.Front) []httpkit.Route {
	// It answers POST /voucher/seckill/:id/ticket.
	answer := func(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
		given, err := give(c.Request.Context(), id, callerOf(front, c, who), c.GetHeader(SolutionHeader))
		return httpkit.Data(http.StatusOK, ticketJSON{
			Ticket: given.Text, UsableFrom: usableFrom(given.UsableFrom), ValidUntil: httpkit.ShownTime(given.Expires),
			BeginTime: httpkit.ShownTime(given.Begin), Entry: given.Entry, ServerTime: httpkit.ShownTime(front.Now()),
		}, err)
	}
	return []httpkit.Route{
		httpkit.Owning("POST /voucher/seckill/:id/ticket", httpkit.ByVoucher(answer), httpkit.Limited),
	}
}

// ticketJSON is the answer with a ticket.
type ticketJSON struct {
	Ticket     string       `json:"ticket"`
	UsableFrom httpkit.Time `json:"usableFrom"`
	ValidUntil httpkit.Time `json:"validUntil"`
	BeginTime  httpkit.Time `json:"beginTime"`       // the sale's start, from which UsableFrom is computed
	Entry      string       `json:"entry,omitempty"` // absent: no draw, or not in it
	ServerTime httpkit.Time `json:"serverTime"`
}

// usableFrom returns a ticket's moment as answers show it: rounded up, so that a caller who waits for it may buy.
func usableFrom(t time.Time) httpkit.Time { return httpkit.ShownTime(t.Add(time.Millisecond - 1)) }

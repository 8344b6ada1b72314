package guard

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// TicketGiver issues the tickets of sales: *Tickets.
type TicketGiver interface {
	// Give returns a ticket of the caller for a voucher's sale; the solution is "" without. Its errors are those of
	// voucher and order, and ErrNoTickets, *TicketsLaterError, *ChallengeError,
	// *StoppedError, challenge.ErrBusy, challenge.ErrTryAgain and ticket.ErrTryAgain.
	Give(ctx context.Context, voucherID int64, c Caller, solution string) (Ticket, error)
}

// Routes returns the routes of tickets.
func Routes(tickets TicketGiver, front httpkit.Front) []httpkit.Route {
	h := handlers{tickets, front}
	return []httpkit.Route{httpkit.Owning("POST /voucher/seckill/:id/ticket", h.give, httpkit.Limited)}
}

type handlers struct {
	tickets TicketGiver
	front   httpkit.Front
}

// ticketJSON is the answer with a ticket.
type ticketJSON struct {
	Ticket     string       `json:"ticket"`
	UsableFrom httpkit.Time `json:"usableFrom"`
	ValidUntil httpkit.Time `json:"validUntil"`
	BeginTime  httpkit.Time `json:"beginTime"` // the start that the moment is reckoned from
	ServerTime httpkit.Time `json:"serverTime"`
}

// usableFrom is a ticket's moment as it is shown: never earlier than it is, so that a caller who waits for it may buy.
func usableFrom(t time.Time) httpkit.Time { return httpkit.ShownTime(t.Add(time.Millisecond - 1)) }

// give answers POST /voucher/seckill/:id/ticket.
func (h handlers) give(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	given, err := h.tickets.Give(c.Request.Context(), id, callerOf(h.front, c, who), c.GetHeader(SolutionHeader))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: ticketJSON{
		Ticket: given.Text, UsableFrom: usableFrom(given.UsableFrom), ValidUntil: httpkit.ShownTime(given.Expires),
		BeginTime: httpkit.ShownTime(given.Begin), ServerTime: httpkit.ShownTime(h.front.Now()),
	}}}, nil
}

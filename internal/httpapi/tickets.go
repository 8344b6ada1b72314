package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/order/service"
	"seckill/internal/voucher"
)

// Tickets gives out the tickets of sales: *service.Tickets.
type Tickets interface {
	// Give returns a ticket of the caller for a voucher's sale; the solution is "" without. Its errors are those of
	// voucher and order, and service.ErrNoTickets, *service.TicketsLaterError, *service.ChallengeError,
	// *guard.StoppedError, challenge.ErrBusy, challenge.ErrTryAgain and ticket.ErrTryAgain.
	Give(ctx context.Context, voucherID int64, c guard.Caller, solution string) (service.Ticket, error)
}

// ticketJSON is a ticket.
type ticketJSON struct {
	Ticket     string    `json:"ticket"`
	UsableFrom time.Time `json:"usableFrom"`
	Expires    time.Time `json:"expires"`
	BeginTime  time.Time `json:"beginTime"` // of which the moment was calculated
	ServerTime time.Time `json:"serverTime"`
}

// giveTicket answers POST /voucher/seckill/:id/ticket.
func (a *API) giveTicket(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	given, err := a.cfg.Tickets.Give(c.Request.Context(), id, a.caller(c, who), c.GetHeader(solutionHeader))
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: ticketJSON{
		Ticket: given.Text, UsableFrom: given.UsableFrom.UTC(), Expires: httpkit.ShownTime(given.Expires),
		BeginTime: httpkit.ShownTime(given.Begin), ServerTime: httpkit.ShownTime(a.cfg.Now()),
	}}}, nil
}

// laterMembers adds from when tickets are given out.
func laterMembers(body []byte, _ words.Language, err error) []byte {
	later, _ := errors.AsType[*service.TicketsLaterError](err)
	body = append(body, `,"data":{"ticketsFrom":`...)
	body = httpkit.AppendJSON(body, httpkit.ShownTime(later.From))
	return append(body, '}')
}

// challengeMembers adds the challenge.
func challengeMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*service.ChallengeError](err)
	body = append(body, `,"data":{"challenge":`...)
	body = httpkit.AppendJSON(body, e.Challenge)
	return append(body, '}')
}

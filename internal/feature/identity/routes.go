package identity

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
)

// Service has the functions behind the routes of sessions.
type Service struct {
	// Exchange returns a session for a provider's token. Errors: issuers.ErrRefused, ErrNotOfConsole, ErrNotOfTill,
	// order.ErrUnavailable.
	Exchange func(ctx context.Context, token string, purpose Purpose) (Session, error)
	// End makes the user's tokens that were signed in before now void, the caller's own too. Error:
	// order.ErrUnavailable.
	End func(ctx context.Context, userID int64) error
	// Address returns the caller's address, or zero if it cannot be read. Take counts a sign-in from the address.
	// Error: ErrOften.
	Address func(r *http.Request) netip.Addr
	Take    func(address netip.Addr) error
	// Observe counts the outcome of a sign-in, for metrics.
	Observe func(err error)
}

// Routes returns the routes of sessions.
func Routes(s Service, bodies httpkit.Bodies) []httpkit.Route {
	h := handlers{s, bodies}
	return []httpkit.Route{
		httpkit.SignIn("POST /session", h.exchange),
		httpkit.Signed("POST /session/end", h.end),
	}
}

type handlers struct {
	Service

	bodies httpkit.Bodies
}

// sessionJSON is a session as its user gets it.
type sessionJSON struct {
	UserID     int64        `json:"userId"`
	Token      string       `json:"token"`
	ValidUntil httpkit.Time `json:"validUntil"`
}

// exchange answers POST /session.
func (h handlers) exchange(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	if err := h.Take(h.Address(c.Request)); err != nil {
		h.Observe(err)
		return httpkit.Answer{}, err
	}
	token, purpose := "", string(ForShop)
	err := h.bodies.Read(c, jsonbody.Required(jsonbody.Text("token", &token)), jsonbody.Text("for", &purpose))
	if err != nil {
		return httpkit.Answer{}, err
	}
	purposes := []string{string(ForShop), string(ForConsole), string(ForTill)}
	if !slices.Contains(purposes, purpose) {
		var wrong invalid.Problems
		wrong.Bad("for", invalid.Malformed, invalid.OneOf,
			invalid.Data{"value": invalid.Clip(purpose), "values": purposes})
		return httpkit.Answer{}, wrong.Err()
	}
	s, err := h.Exchange(c.Request.Context(), token, Purpose(purpose))
	if !errors.Is(err, context.Canceled) {
		h.Observe(err)
	}
	return httpkit.Data(http.StatusCreated,
		sessionJSON{UserID: s.UserID, Token: s.Token, ValidUntil: httpkit.ShownTime(s.Expires)}, err)
}

// end answers POST /session/end.
func (h handlers) end(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	return httpkit.Data(http.StatusOK, struct{}{}, h.End(c.Request.Context(), who.UserID))
}

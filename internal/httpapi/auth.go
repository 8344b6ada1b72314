package httpapi

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/authtoken"
	"seckill/internal/guard"
	"seckill/internal/httpapi/param"
	"seckill/internal/voucher"
)

// identity is who calls. The zero identity is nobody.
type identity struct {
	userID  int64
	admin   bool
	shop    int64     // that a till stands in; 0: no till
	expires time.Time // the token's exp; what lasts longer ends then
	claims  guard.Claims
}

// left is for how long the identity is proven from a time on.
func (who identity) left(now time.Time) time.Duration { return who.expires.Sub(now) }

// authenticator finds out who calls. It remembers no tokens: checking one takes less time than a cache takes to store it.
type authenticator struct {
	tokens *authtoken.Verifier
	now    func() time.Time
}

func newAuthenticator(rules authtoken.Rules, now func() time.Time) (*authenticator, error) {
	tokens, err := authtoken.NewVerifier(rules)
	if err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return &authenticator{tokens: tokens, now: now}, nil
}

// identify returns who calls, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identify(h http.Header) (identity, error) {
	lines := h["Authorization"]
	if len(lines) > 1 {
		return identity{}, fmt.Errorf("%w: several Authorization headers", errBadToken)
	}
	if len(lines) == 0 {
		return identity{}, errNoToken
	}
	return a.verify(bareToken(lines[0]))
}

// identifyQuery returns who calls by the query's access_token, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identifyQuery(r *http.Request) (identity, error) {
	values, badQuery := param.ParseQuery(r)
	token, _, severalTimes := values.Text("access_token")
	if badQuery != nil || severalTimes != nil {
		return identity{}, fmt.Errorf("%w: no single access_token in the query", errBadToken)
	}
	return a.verify(token)
}

// verify returns whose token it is, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) verify(token string) (identity, error) {
	if token == "" {
		return identity{}, errNoToken
	}
	who, err := a.tokens.Verify(token, a.now())
	if err != nil {
		return identity{}, fmt.Errorf("%w: %w", errBadToken, err)
	}
	return identity{userID: who.UserID, admin: who.Admin, shop: who.Shop, expires: who.Expires, claims: guard.Claims{Level: who.Level, Since: who.Since}}, nil
}

// bareToken returns the token of an Authorization header: all of it, or what follows the word Bearer.
func bareToken(header string) string {
	const scheme = "bearer"
	header = strings.TrimSpace(header)
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return header
	}
	rest := header[len(scheme):]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return header
	}
	return strings.TrimSpace(rest)
}

// firstDemoUser is the lowest id of a demo buyer: beyond those that people choose when they try things out.
const firstDemoUser int64 = 1 << 52

// How many demo buyers are made, for all callers together: some people who try the service out, and no crowd that a script
// makes of them to take the demonstration sale from these.
const (
	demoBuyersPerSecond = 1
	demoBuyersAtOnce    = 60
)

// demoBuyerJSON is a new buyer.
type demoBuyerJSON struct {
	UserID  int64     `json:"userId"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// demoBuyer answers POST /demo/buyer: a new buyer, who has bought nothing, and their token. Nothing of it is stored. Pages
// of other origins cannot read the answer unless they may call the service anyway, and it never makes an admin.
func (a *API) demoBuyer(*gin.Context, identity) (answer, error) {
	if !a.demoBuyers.AllowN(a.cfg.Now(), 1) {
		return answer{}, errManyDemoBuyers
	}
	n, err := rand.Int(rand.Reader, big.NewInt(voucher.MaxID-firstDemoUser))
	if err != nil {
		return answer{}, fmt.Errorf("a demo buyer's id: %w", err)
	}
	now, user := a.cfg.Now(), firstDemoUser+n.Int64()
	token, err := authtoken.Sign(a.cfg.Tokens, user, "", a.cfg.DemoBuyers, now)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, envelope: envelope{
		Data: demoBuyerJSON{UserID: user, Token: token, Expires: shownTime(now.Add(a.cfg.DemoBuyers))},
	}}, nil
}

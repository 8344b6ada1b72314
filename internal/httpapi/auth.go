package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/voucher/guards"
)

// authenticator identifies callers. It does not cache tokens: checking one takes less time than storing it in a cache.
type authenticator struct {
	tokens *authtoken.Verifier
	void   func(userID int64, issued time.Time) bool
}

func newAuthenticator(
	rules authtoken.Rules, void func(userID int64, issued time.Time) bool,
) (*authenticator, error) {
	tokens, err := authtoken.NewVerifier(rules)
	if err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	return &authenticator{tokens: tokens, void: void}, nil
}

// identify returns who calls at the time now, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identify(h http.Header, now time.Time) (httpkit.Identity, error) {
	lines := h["Authorization"]
	if len(lines) > 1 {
		return httpkit.Identity{}, fmt.Errorf("%w: several Authorization headers", errBadToken)
	}
	if len(lines) == 0 {
		return httpkit.Identity{}, errNoToken
	}
	return a.verify(bareToken(lines[0]), now)
}

// identifyQuery returns the caller, from the token in the query, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identifyQuery(r *http.Request, now time.Time) (httpkit.Identity, error) {
	values, badQuery := param.ParseQuery(r)
	token, _, severalTimes := values.Text(httpkit.TokenName)
	if badQuery != nil || severalTimes != nil {
		return httpkit.Identity{}, fmt.Errorf("%w: no single %s in the query", errBadToken, httpkit.TokenName)
	}
	return a.verify(token, now)
}

// verify returns the owner of a token, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) verify(token string, now time.Time) (httpkit.Identity, error) {
	if token == "" {
		return httpkit.Identity{}, errNoToken
	}
	who, err := a.tokens.Verify(token, now)
	if err != nil {
		return httpkit.Identity{}, fmt.Errorf("%w: %w", errBadToken, err)
	}
	if a.void(who.UserID, signedBefore(who)) {
		return httpkit.Identity{}, fmt.Errorf("%w: its user has signed out since, or it was revoked", errBadToken)
	}
	return httpkit.Identity{
		UserID: who.UserID, Role: who.Role, Shop: who.Shop, Crowd: who.Crowd, Expires: who.Expires,
		Claims: guards.Claims{Level: who.Level, Since: who.Since},
	}, nil
}

// signedBefore returns the time that counts as a token's sign-in: a minute before its iat if somebody else signed it,
// as their clock may be ahead. So a sign-out covers such tokens, too. It is zero for a token without iat.
func signedBefore(who authtoken.Identity) time.Time {
	if who.Session || who.Issued.IsZero() {
		return who.Issued
	}
	return who.Issued.Add(-authtoken.ClockLead)
}

// bareToken returns the token in an Authorization header: its whole value, or the part after the word Bearer.
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

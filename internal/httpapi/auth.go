package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/voucher"
)

const (
	// MinSecret is how many bytes a signing secret has at least: the width of HS256's hash (RFC 7518, section 3.2).
	MinSecret = 32
	// RoleAdmin is the role that may create and change vouchers and see every user's orders.
	RoleAdmin = "admin"
	// maxToken is how many bytes a token may have. Real ones have some 200.
	maxToken = 4096
	// tokenCache is how many verified tokens are remembered: some 30 MB when full.
	tokenCache = 100_000
)

// ErrWeakSecret says that the secret that signs tokens is too short to be one.
var ErrWeakSecret = fmt.Errorf("httpapi: the token secret must have at least %d bytes", MinSecret)

// identity is who calls. The zero identity is nobody.
type identity struct {
	userID int64
	admin  bool
}

// claims are those of a token that this service reads.
type claims struct {
	Role string `json:"role,omitempty"`
	jwt.RegisteredClaims
}

// verified is what a valid token proves.
type verified struct {
	who     identity
	expires time.Time
}

// authenticator finds out who calls. There is no leeway for clocks: a token is valid from its nbf, if it has one, and
// strictly before its exp, by this machine's clock.
type authenticator struct {
	parser *jwt.Parser
	secret []byte
	now    func() time.Time
	// seen remembers verified tokens: checking the signature costs a hundred times more than the lookup. Only valid tokens
	// are stored, so forged ones cannot fill it. Expiry is checked at every use instead of by the cache, whose own clean-up
	// would be a goroutine; expired tokens are evicted like all unused ones.
	seen *otter.Cache[string, verified]
}

func newAuthenticator(rules TokenRules, now func() time.Time) (*authenticator, error) {
	seen, err := otter.New(&otter.Options[string, verified]{MaximumSize: tokenCache})
	if err != nil {
		return nil, fmt.Errorf("httpapi: token cache: %w", err)
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(now),
	}
	if rules.Issuer != "" {
		options = append(options, jwt.WithIssuer(rules.Issuer))
	}
	if rules.Audience != "" {
		options = append(options, jwt.WithAudience(rules.Audience))
	}
	return &authenticator{parser: jwt.NewParser(options...), secret: rules.Secret, now: now, seen: seen}, nil
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
	return a.verifyCached(bareToken(lines[0]))
}

// identifyQuery returns who calls by the query's access_token, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identifyQuery(r *http.Request) (identity, error) {
	values, badQuery := param.ParseQuery(r)
	token, _, severalTimes := values.Text("access_token")
	if badQuery != nil || severalTimes != nil {
		return identity{}, fmt.Errorf("%w: no single access_token in the query", errBadToken)
	}
	return a.verifyCached(token)
}

// verifyCached returns whose token it is, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) verifyCached(token string) (identity, error) {
	if token == "" {
		return identity{}, errNoToken
	}
	if v, ok := a.seen.GetIfPresent(token); ok {
		if a.now().Before(v.expires) {
			return v.who, nil
		}
		a.seen.Invalidate(token)
	}
	v, err := a.verify(token)
	if err != nil {
		return identity{}, fmt.Errorf("%w: %w", errBadToken, err)
	}
	a.seen.Set(token, v)
	return v.who, nil
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

// verify checks a token's signature and claims.
func (a *authenticator) verify(token string) (verified, error) {
	if len(token) > maxToken {
		return verified{}, errors.New("token is too long")
	}
	var cl claims
	if _, err := a.parser.ParseWithClaims(token, &cl, a.key); err != nil {
		return verified{}, err
	}
	id, ok := param.ParseID(cl.Subject, voucher.MaxID)
	if !ok {
		return verified{}, fmt.Errorf("subject %q is not a user id", invalid.Clip(cl.Subject))
	}
	return verified{who: identity{userID: id, admin: cl.Role == RoleAdmin}, expires: cl.ExpiresAt.Time}, nil
}

// key returns the key of a token's signature. A token that names critical extensions is refused, because none is supported
// (RFC 7515, section 4.1.11); the parser ignores them. An empty list of them is malformed by the same rule.
func (a *authenticator) key(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("token has critical extensions")
	}
	return a.secret, nil
}

// SignToken makes a token for trying things out and for tests; real ones come from the service that knows the users. It is
// valid for ttl from now. role is "" or RoleAdmin; issuer and audience are left out when empty. A secret shorter than
// MinSecret is ErrWeakSecret.
func SignToken(secret []byte, userID int64, role string, ttl time.Duration, issuer, audience string, now time.Time) (string, error) {
	switch {
	case len(secret) < MinSecret:
		return "", ErrWeakSecret
	case userID < 1 || userID > voucher.MaxID:
		return "", fmt.Errorf("httpapi: user id %d is not from 1 to %d", userID, voucher.MaxID)
	case role != "" && role != RoleAdmin:
		return "", fmt.Errorf("httpapi: role %q is not known (allowed: %q or none)", role, RoleAdmin)
	case ttl < time.Second:
		return "", fmt.Errorf("httpapi: a token cannot be valid for %s (allowed: 1s or more)", ttl)
	}
	cl := claims{Role: role, RegisteredClaims: jwt.RegisteredClaims{
		Subject:   strconv.FormatInt(userID, 10),
		Issuer:    issuer,
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}}
	if audience != "" {
		cl.Audience = jwt.ClaimStrings{audience}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, cl).SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("httpapi: signing: %w", err)
	}
	return token, nil
}

// firstDemoUser is the lowest id of a demo buyer: beyond those that people choose when they try things out.
const firstDemoUser int64 = 1 << 52

// demoBuyerJSON is a new buyer.
type demoBuyerJSON struct {
	UserID  int64     `json:"userId"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// demoBuyer answers POST /demo/buyer: a new buyer, who has bought nothing, and their token. Nothing of it is stored. Pages
// of other origins cannot read the answer unless they may call the service anyway, and it never makes an admin.
func (a *API) demoBuyer(*gin.Context, identity) (answer, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(voucher.MaxID-firstDemoUser))
	if err != nil {
		return answer{}, fmt.Errorf("a demo buyer's id: %w", err)
	}
	rules, now, user := a.cfg.Tokens, a.cfg.Now(), firstDemoUser+n.Int64()
	token, err := SignToken(rules.Secret, user, "", a.cfg.DemoBuyers, rules.Issuer, rules.Audience, now)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, envelope: envelope{
		Data: demoBuyerJSON{UserID: user, Token: token, Expires: shownTime(now.Add(a.cfg.DemoBuyers))},
	}}, nil
}

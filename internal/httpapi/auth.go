package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"seckill/internal/voucher"
)

const (
	// MinSecret is how many bytes a signing secret has at least: the width of HS256's hash (RFC 7518, section 3.2).
	MinSecret = 32
	// RoleAdmin is the role of those who may create and change vouchers and see everybody's orders.
	RoleAdmin = "admin"
	// maxToken is how many bytes a token may have. Real ones have some 200.
	maxToken = 4096
)

// ErrWeakSecret says that the secret that signs tokens is too short to be one.
var ErrWeakSecret = fmt.Errorf("httpapi: the token secret must have at least %d bytes", MinSecret)

// identity is who calls. The zero identity is nobody.
type identity struct {
	userID int64
	admin  bool
}

// claims is what this service reads in a token.
type claims struct {
	Role string `json:"role,omitempty"`
	jwt.RegisteredClaims
}

// verified is a token that was found valid, and until when it is.
type verified struct {
	who     identity
	expires time.Time
}

// authenticator tells who calls. There is no leeway for clocks: a token is valid from its nbf, if it has one, and
// strictly before its exp, by this machine's clock.
type authenticator struct {
	parser *jwt.Parser
	secret []byte
	now    func() time.Time
	// seen remembers verified tokens: the signature costs a hundred times more than looking it up. Only tokens that
	// were valid get in, so forged ones cannot fill it. Expiry is checked at every use instead of by the cache, whose
	// own clean-up would be a goroutine; expired tokens are evicted like all that nobody uses.
	seen *otter.Cache[string, verified]
}

func newAuthenticator(rules TokenRules, now func() time.Time) (*authenticator, error) {
	seen, err := otter.New(&otter.Options[string, verified]{MaximumSize: rules.CacheSize})
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
	return a.believe(bareToken(lines[0]))
}

// identifyQuery returns who calls by the query's access_token, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) identifyQuery(r *http.Request) (identity, error) {
	values, badQuery := query(r)
	token, _, severalTimes := single(values, "access_token")
	if badQuery != nil || severalTimes != nil {
		return identity{}, fmt.Errorf("%w: no single access_token in the query", errBadToken)
	}
	return a.believe(token)
}

// believe returns whose token it is, or an error that wraps errNoToken or errBadToken.
func (a *authenticator) believe(token string) (identity, error) {
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

// bareToken returns the token of an Authorization header, which stands there alone or after the word Bearer.
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
	id, ok := parseID(cl.Subject, voucher.MaxID)
	if !ok {
		return verified{}, fmt.Errorf("subject %q is not a user id", clipped(cl.Subject))
	}
	return verified{who: identity{userID: id, admin: cl.Role == RoleAdmin}, expires: cl.ExpiresAt.Time}, nil
}

// key returns the key of a token's signature. A token that names extensions which must be understood is refused, because
// none is (RFC 7515, section 4.1.11); the parser passes over them. An empty list of them is malformed by the same rule.
func (a *authenticator) key(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("token has critical extensions")
	}
	return a.secret, nil
}

// SignToken makes a token for trying things out and for tests; real ones come from whoever knows the users. It is
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

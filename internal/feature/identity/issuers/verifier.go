package issuers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"seckill/internal/kit/periodic"
	"seckill/internal/voucher"
)

const (
	maxToken = 16 << 10       // bytes
	leeway   = time.Minute    // how far a provider's clock may be off
	oldest   = 24 * time.Hour // since the sign-in
)

// ErrRefused is the error for an invalid provider's token. The wrapped reason is for the log.
var ErrRefused = errors.New("the provider's token is not valid")

// Person is the user that a provider's token identifies.
type Person struct {
	Issuer, Subject string
	Number          int64     // the number that a buyer of a numeric issuer keeps; else 0
	SignedIn        time.Time // the token's iat
	Level           int64
	Since           time.Time
	Roles           map[Role]int64 // their roles besides a buyer's, each with its shop; 0 for an admin
}

// provider is an issuer with its keys.
type provider struct {
	Issuer

	keys *keySet
	says rate.Sometimes // bounds what is logged of claims that do not fit
}

// errOld is not logged: every token gets old.
var errOld = fmt.Errorf("it was issued more than %v ago", oldest)

// misfitEvery is how often a token that an issuer signed, and whose claims do not fit its entry, is logged.
const misfitEvery = time.Minute

// Verifier checks the tokens of issuers. It is safe for concurrent use.
type Verifier struct {
	providers map[string]*provider
	now       func() time.Time
}

// NewVerifier returns a verifier that reads each issuer's keys from its source.
func NewVerifier(
	issuers []Issuer, source func(Issuer) Source, now func() time.Time, log *slog.Logger,
) *Verifier {
	v := &Verifier{providers: make(map[string]*provider, len(issuers)), now: now}
	for _, i := range issuers {
		v.providers[i.Name] = &provider{
			Issuer: i, keys: &keySet{issuer: i.Name, read: source(i), now: now, log: log},
			says: rate.Sometimes{Interval: misfitEvery},
		}
	}
	return v
}

// Run reads all keys at once, and then whenever they are due, until ctx ends. One provider that hangs does not hold up
// the keys of another.
func (v *Verifier) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, p := range v.providers {
		all.Go(func() {
			p.keys.refresh(ctx)
			_ = periodic.Every(ctx, keysLook, p.keys.refresh) // it always returns nil
		})
	}
	<-ctx.Done() // also without providers
	all.Wait()
	return nil
}

// KeyAges returns the age of the keys of each issuer that has any.
func (v *Verifier) KeyAges() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for name, p := range v.providers {
		if age, ok := p.keys.age(); ok {
			ages[name] = age
		}
	}
	return ages
}

// Verify returns the user that a token identifies. Errors: ErrRefused, order.ErrUnavailable while the keys of its
// issuer cannot be read.
//
// The token itself names its issuer, the issuer's entry says which algorithms are allowed, and the key's own type
// decides. The header's alg only has to agree. Keys and addresses in a header mean nothing.
func (v *Verifier) Verify(ctx context.Context, token string) (Person, error) {
	header, body, err := segments(token)
	if err != nil {
		return Person{}, refused(err)
	}
	var unproven tokenClaims
	if err := unproven.UnmarshalJSON(body); err != nil {
		return Person{}, refused(fmt.Errorf("the payload %w", err))
	}
	name, _ := unproven.GetIssuer()
	p := v.providers[name]
	if p == nil {
		return Person{}, refused(errors.New("its issuer is not in the file of issuers"))
	}
	algorithm, kid, err := p.readHeader(header)
	if err != nil {
		return Person{}, refused(err)
	}
	key, err := p.keys.find(ctx, kid, algorithm)
	if errors.Is(err, errNoKey) {
		return Person{}, refused(err)
	}
	if err != nil {
		return Person{}, err
	}
	claims := &tokenClaims{}
	_, err = jwt.NewParser(
		jwt.WithValidMethods([]string{string(algorithm)}), jwt.WithStrictDecoding(), jwt.WithIssuer(p.Name),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(v.now),
	).ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return key, nil })
	if err != nil {
		return Person{}, refused(err)
	}
	person, err := p.person(claims, v.now())
	if err != nil {
		p.misfit(ctx, err)
		return Person{}, refused(err)
	}
	return person, nil
}

// misfit logs, once a minute at most, why a token with a valid signature is refused. Its user, who has perhaps just
// signed in, is only asked to do so again.
func (p *provider) misfit(ctx context.Context, err error) {
	if errors.Is(err, errOld) {
		return
	}
	p.says.Do(func() {
		p.keys.log.WarnContext(ctx, "a token that an issuer signed is refused: its claims do not fit its entry in the "+
			"file of issuers", "issuer", p.Name, "error", err)
	})
}

func refused(err error) error { return fmt.Errorf("%w: %w", ErrRefused, err) }

// Refuse returns ErrRefused with a reason.
func Refuse(why string) error { return refused(errors.New(why)) }

// segments returns header and payload of a token, decoded.
func segments(token string) (header, payload []byte, err error) {
	if len(token) > maxToken {
		return nil, nil, fmt.Errorf("it has more than %d bytes", maxToken)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || strings.ContainsAny(token, "\r\n") {
		return nil, nil, errors.New("it has not three segments")
	}
	header, errHeader := base64.RawURLEncoding.Strict().DecodeString(parts[0])
	payload, errPayload := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if errHeader != nil || errPayload != nil {
		return nil, nil, errors.New("a segment is no base64url")
	}
	return header, payload, nil
}

// readHeader returns the algorithm and the key's id that the token's header names.
func (p *provider) readHeader(b []byte) (a Algorithm, kid string, err error) {
	members, err := object(b)
	if err != nil {
		return "", "", fmt.Errorf("the header %w", err)
	}
	alg, okAlg := text(members["alg"])
	kid, okKid := text(members["kid"])
	kind, okKind := text(members["typ"])
	access := strings.EqualFold(kind, "at+jwt") || strings.EqualFold(kind, "application/at+jwt")
	switch {
	case !okAlg || !okKid || !okKind:
		return "", "", errors.New("alg, kid or typ is no text")
	case !p.uses(Algorithm(alg)):
		return "", "", fmt.Errorf("alg is %.20q, which its issuer does not use", alg)
	case members["crit"] != nil:
		return "", "", errors.New("it has critical extensions")
	case access != (p.Kind == AccessToken), !access && kind != "" && !strings.EqualFold(kind, "JWT"):
		return "", "", fmt.Errorf("typ is %.40q: it is no %s token", kind, p.Kind)
	}
	return Algorithm(alg), kid, nil
}

// person reads the claims of a token whose signature and times are right.
func (p *provider) person(c *tokenClaims, now time.Time) (Person, error) {
	if err := p.checkAudience(c); err != nil {
		return Person{}, err
	}
	subject, err := c.text(p.Claims.User)
	if err != nil || subject == "" || len(subject) > maxName {
		return Person{}, fmt.Errorf("%s is no text of 1 to %d bytes", p.Claims.User, maxName)
	}
	who := Person{
		Issuer: p.Name, Subject: subject, Level: c.whole(p.Claims.Level, mostWhole), Roles: p.Staff.roles(c),
	}
	if p.Numeric {
		if who.Number, err = numberOf(subject); err != nil {
			return Person{}, fmt.Errorf("%s %w", p.Claims.User, err)
		}
	}
	if since := c.whole(p.Claims.Since, lastSecond); since > 0 {
		who.Since = time.Unix(since, 0)
	}
	issued, err := c.GetIssuedAt()
	switch {
	case err != nil:
		return Person{}, err
	case issued == nil: // both specifications require it, and revocation goes by it
		return Person{}, errors.New("it has no iat")
	case now.Sub(issued.Time) > oldest:
		return Person{}, errOld
	}
	who.SignedIn = issued.Time
	return who, nil
}

// numberOf reads a user's number, which is below those of accounts. Only one spelling of a number is allowed.
func numberOf(subject string) (int64, error) {
	n, err := strconv.ParseInt(subject, 10, 64)
	if err != nil || n < 1 || n >= voucher.FirstAccount || strconv.FormatInt(n, 10) != subject {
		return 0, fmt.Errorf("is %.20q: it is no whole number from 1 to %d, as digits alone write it", subject,
			voucher.FirstAccount-1)
	}
	return n, nil
}

// checkAudience returns an error if the token is for another audience. An ID token for several audiences may be used
// only by its azp (OpenID Connect Core, section 3.1.3.7).
func (p *provider) checkAudience(c *tokenClaims) error {
	if p.AudienceIn != "aud" {
		if got, err := c.text(p.AudienceIn); err != nil || got != p.Audience {
			return fmt.Errorf("%s is another audience", p.AudienceIn)
		}
		return nil
	}
	all, err := c.GetAudience()
	if err != nil || !slices.Contains(all, p.Audience) {
		return errors.New("aud is another audience")
	}
	if raw, given := c.members["azp"]; given && p.Kind == IDToken {
		if azp, ok := text(raw); !ok || azp != p.Audience {
			return errors.New("azp is another party")
		}
	}
	return nil
}

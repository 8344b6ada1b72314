package openid

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/testkit/idp"
)

var tokens = flag.Int("tokens", 2000, "how many tokens TestHostileTokens makes up: make -C lab hostile-tokens N=…")

const (
	issuer   = "https://login.example/shop"
	audience = "seckill"
	leeway   = time.Minute
	aDay     = 24 * time.Hour
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// TestHostileTokens: the service's verdict on each token is that of go-jose with the same rules, and nothing is let in
// that has a flaw.
func TestHostileTokens(t *testing.T) {
	t.Parallel()
	for _, kind := range []issuers.Kind{issuers.IDToken, issuers.AccessToken} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			compare(t, kind)
		})
	}
}

func compare(t *testing.T, kind issuers.Kind) {
	t.Helper()
	keys, strangers := idp.Keys(t), idp.Keys(t)
	set := idp.Set(t, keys)
	own := issuers.NewVerifier([]issuers.Issuer{{
		Name: issuer, Audience: audience, AudienceIn: "aud", Kind: kind,
		Algorithms: []issuers.Algorithm{issuers.RS256, issuers.ES256, issuers.EdDSA},
		Claims:     issuers.Claims{User: "sub"},
	}}, func(issuers.Issuer) issuers.Source {
		return func(context.Context) ([]byte, error) { return set, nil }
	}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	ref := reference{kind: kind}
	if err := json.Unmarshal(set, &ref.keys); err != nil {
		t.Fatal(err)
	}
	g := &generator{
		Rand: mathrand.New(mathrand.NewPCG(1, uint64(len(kind)))), kind: kind,
		keys: keys, strangers: strangers, set: set,
	}
	var accepted, flawed int
	for range *tokens {
		token, flaws := g.token(t)
		who, errOwn := own.Verify(t.Context(), token)
		subject, errRef := ref.verify(token)
		switch {
		case (errOwn == nil) != (errRef == nil), errOwn == nil && who.Subject != subject:
			t.Fatalf("%q (%s)\nown:     %q, %v\ngo-jose: %q, %v", token, flaws, who.Subject, errOwn, subject, errRef)
		case errOwn == nil && flaws != "":
			t.Fatalf("%q is let in with %s", token, flaws)
		case errOwn == nil:
			accepted++
		default:
			flawed++
		}
	}
	if accepted == 0 || flawed < *tokens/5 {
		t.Errorf("%d accepted, %d refused", accepted, flawed)
	}
	t.Logf("%d accepted by both, %d refused by both", accepted, flawed)
}

// reference is a check of go-jose with the service's rules.
type reference struct {
	kind issuers.Kind
	keys jose.JSONWebKeySet
}

func (r reference) verify(token string) (subject string, err error) {
	for part := range strings.SplitSeq(token, ".") { // go-jose takes other spellings of the same bytes
		if b, err := base64.RawURLEncoding.DecodeString(part); err != nil ||
			base64.RawURLEncoding.EncodeToString(b) != part {
			return "", fmt.Errorf("a segment is no base64url: %w", err)
		}
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA})
	if err != nil {
		return "", err
	}
	header := parsed.Headers[0]
	if err := r.checkHeader(header); err != nil {
		return "", err
	}
	for _, k := range r.keys.Key(header.KeyID) {
		if k.Algorithm != header.Algorithm {
			continue
		}
		var (
			claims jwt.Claims
			more   struct {
				Party *string `json:"azp"`
			}
		)
		if err := parsed.Claims(k, &claims, &more); err != nil {
			return "", err
		}
		return claims.Subject, r.checkClaims(claims, more.Party)
	}
	return "", fmt.Errorf("no key %q", header.KeyID)
}

func (r reference) checkHeader(h jose.Header) error {
	if _, has := h.ExtraHeaders["crit"]; has {
		return fmt.Errorf("critical extensions")
	}
	raw, has := h.ExtraHeaders[jose.HeaderType]
	kind, ok := raw.(string)
	if has && !ok {
		return fmt.Errorf("typ is no text")
	}
	access := strings.EqualFold(kind, "at+jwt") || strings.EqualFold(kind, "application/at+jwt")
	if access != (r.kind == issuers.AccessToken) || !access && kind != "" && !strings.EqualFold(kind, "JWT") {
		return fmt.Errorf("typ is %q", kind)
	}
	return nil
}

func (r reference) checkClaims(c jwt.Claims, party *string) error {
	switch {
	case c.Expiry == nil, c.IssuedAt == nil, c.Subject == "", len(c.Subject) > 255:
		return fmt.Errorf("exp, iat or sub is missing")
	case noon.Sub(c.IssuedAt.Time()) > aDay:
		return fmt.Errorf("it is old")
	case party != nil && *party != audience && r.kind == issuers.IDToken:
		return fmt.Errorf("another party")
	}
	return c.ValidateWithLeeway(jwt.Expected{
		Issuer: issuer, AnyAudience: jwt.Audience{audience}, Time: noon,
	}, leeway)
}

// generator makes tokens up. Each is right, or has flaws.
type generator struct {
	*mathrand.Rand
	kind            issuers.Kind
	keys, strangers map[string]idp.Key
	set             []byte
	flaws           []string
}

func (g *generator) flaw(one int, what string) bool {
	if g.IntN(one) != 0 {
		return false
	}
	g.flaws = append(g.flaws, what)
	return true
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

// token returns a token, and what is wrong with it.
func (g *generator) token(t *testing.T) (token, flaws string) {
	t.Helper()
	g.flaws = nil
	kid := g.one("RS256", "ES256", "EdDSA")
	key, alg := g.keys[kid], kid
	switch {
	case g.flaw(60, "another's key"):
		key = g.strangers[kid]
	case g.flaw(60, "another algorithm's kid"):
		kid = map[string]string{"RS256": "ES256", "ES256": "EdDSA", "EdDSA": "RS256"}[kid]
	case g.flaw(60, "an unknown kid"):
		kid = g.one("x", "secret", "../RS256", "RS256\x00", "rs256")
	case g.flaw(60, "another alg"):
		alg = g.one("none", "None", "HS256", "RS384", "PS256", "ES512", "", "EdDSA ", "rs256")
	}
	text := encode(g.header(alg, kid)) + "." + encode(g.claims())
	signature := g.sign(t, key, text)
	if alg == "HS256" {
		mac := hmac.New(sha256.New, [][]byte{g.set, make([]byte, 32), {}}[g.IntN(3)])
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	}
	token = text + "." + base64.RawURLEncoding.EncodeToString(signature)
	if g.flaw(25, "damage") {
		token = g.damage(token)
	}
	return token, strings.Join(g.flaws, ", ")
}

func (g *generator) header(alg, kid string) string {
	m := []string{fmt.Sprintf("%q:%q", "alg", alg)}
	m = append(m, fmt.Sprintf("%q:%q", "kid", kid))
	right, wrong := []string{`"JWT"`, `"jwt"`}, []string{`"at+jwt"`, `"JWE"`, `7`, `"secevent+jwt"`}
	if g.kind == issuers.AccessToken {
		right = []string{`"at+jwt"`, `"application/at+jwt"`, `"AT+JWT"`}
		wrong = []string{`"JWT"`, `""`, `7`, `"at+jwt "`}
	}
	if g.flaw(40, "another typ") {
		right = wrong
	}
	m = append(m, `"typ":`+g.one(right...))
	if g.IntN(20) == 0 { // means nothing
		m = append(m, g.one(`"jku":"https://evil.example/keys"`, `"x5u":"https://evil.example"`, `"cty":"x"`,
			`"other":{"a":[1]}`))
	}
	if g.flaw(50, "critical extensions") {
		m = append(m, g.one(`"crit":["exp"]`, `"crit":["b64"],"b64":false`, `"crit":[]`, `"crit":"exp"`))
	}
	if g.flaw(60, "a repeated name in the header") {
		m = append(m, g.one(`"alg":"none"`, `"kid":"x"`, `"alg":"RS256"`))
	}
	return g.object(m)
}

func (g *generator) claims() string {
	at := func(seconds int64) string { return fmt.Sprint(noon.Unix() + seconds) }
	member := func(name, right string, rate int, wrong ...string) string {
		if len(wrong) > 0 && g.flaw(rate, "another "+name) {
			right = g.one(wrong...)
		}
		if right == "" {
			return ""
		}
		return fmt.Sprintf("%q:%s", name, right)
	}
	m := []string{
		member("iss", `"`+issuer+`"`, 30, `"`+issuer+`/"`, `"https://evil.example"`, `""`, "null", "7", "",
			`["`+issuer+`"]`),
		member("sub", g.one(`"alice"`, `"1"`, `"\u00e9"`, `"a\u0000"`), 30, `""`, "null", "7", "", `["alice"]`,
			`"`+strings.Repeat("x", 256)+`"`),
		member("aud", g.one(`"`+audience+`"`, `["a","`+audience+`"]`), 30, `"Seckill"`, `["a"]`, "[]", "null", "", "7",
			`["`+audience+`",7]`, `{"aud":"`+audience+`"}`),
		member("exp", g.one(at(3600), at(1), at(-59), at(3600)+".5"), 30, at(-61), at(-86400), "null", "",
			`"`+at(3600)+`"`, "0", "true", "[]"),
		member("iat", g.one(at(0), at(-3600), at(59), at(-86400)), 30, at(61), at(-86401), "null", "",
			`"`+at(0)+`"`, "{}"),
	}
	if g.IntN(3) == 0 {
		m = append(m, member("nbf", g.one(at(0), at(-3600), at(60)), 10, at(61), at(3600), `"`+at(0)+`"`, "{}"))
	}
	if g.IntN(3) == 0 && g.kind == issuers.IDToken {
		m = append(m, member("azp", `"`+audience+`"`, 10, `"web"`, `""`, "7"))
	}
	if g.IntN(3) == 0 {
		m = append(m, g.one(`"Sub":"eve"`, `"role":"admin"`, `"nonce":"n"`, `"deep":{"sub":"eve","l":[[{}]]}`,
			`"ISS":"x"`))
	}
	if g.flaw(60, "a repeated claim") {
		m = append(m, g.one(`"sub":"eve","sub":"eve"`, `"exp":1,"exp":1`))
	}
	return g.object(m)
}

// object is a JSON object of members in any order, now and then one that is none.
func (g *generator) object(members []string) string {
	var m []string
	for _, one := range members {
		if one != "" {
			m = append(m, one)
		}
	}
	g.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	text := "{" + strings.Join(m, ",") + "}"
	if g.flaw(80, "no object") {
		return g.one(text+"{}", text[1:], text[:len(text)-1], "["+text+"]", "null", "", text+"x", `"`+"\xff"+`"`)
	}
	return text
}

// damage changes a signed token.
func (g *generator) damage(token string) string {
	at := g.IntN(len(token))
	switch g.IntN(7) {
	case 0: // another letter
		for {
			if c := byte('A' + g.IntN(26)); c != token[at] && token[at] != '.' {
				return token[:at] + string(c) + token[at+1:]
			}
			at = g.IntN(len(token))
		}
	case 1:
		return token[:at]
	case 2:
		return token + g.one("=", ".", "A", "\n", " ")
	case 3:
		return token[:at] + "\n" + token[at:]
	case 4:
		return token[:strings.LastIndexByte(token, '.')+1]
	case 5:
		return g.one("", "..", ".", "a.b.c", "{}", `{"payload":"","signatures":[]}`, strings.Repeat("a", 20_000))
	default:
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			return ""
		}
		return parts[0] + "." + encode(`{"iss":"`+issuer+`","sub":"eve","aud":"`+audience+`"}`) + "." + parts[2]
	}
}

func (g *generator) sign(t *testing.T, key idp.Key, text string) []byte {
	t.Helper()
	signature, err := key.Method.Sign(text, key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

package shoptest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/authtoken"
)

// Forgeries are tokens that must be refused under the rules of ForgeryRules.
func Forgeries(t *testing.T) map[string]string {
	t.Helper()
	signed := func(m jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		t.Helper()
		return signedWith(t, m, key, change)
	}
	hs := func(change func(jwt.MapClaims)) string { return signed(jwt.SigningMethodHS256, Secret, change) }
	set := func(name string, value any) func(jwt.MapClaims) {
		return func(cl jwt.MapClaims) { cl[name] = value }
	}
	without := func(name string) func(jwt.MapClaims) { return func(cl jwt.MapClaims) { delete(cl, name) } }
	critical := func(extensions any) string { // RFC 7515, section 4.1.11
		tok := jwt.NewWithClaims(jwt.SigningMethodHS256, claims())
		tok.Header["crit"], tok.Header["exp"] = extensions, Noon.Unix()
		s, err := tok.SignedString(Secret)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	whole := hs(nil)
	parts := strings.Split(whole, ".")
	return map[string]string{
		"alg none":      signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"alg none, cut": base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"wrong key":     signed(jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), nil),
		"empty key":     signed(jwt.SigningMethodHS256, []byte{}, nil),
		"RS256":         signed(jwt.SigningMethodRS256, rsaKey, nil),
		"public key as key": signed(jwt.SigningMethodHS256,
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), nil),
		"HS384":              signed(jwt.SigningMethodHS384, Secret, nil),
		"HS512":              signed(jwt.SigningMethodHS512, Secret, nil),
		"expired":            hs(set("exp", Noon.Add(-time.Second).Unix())),
		"expires now":        hs(set("exp", Noon.Unix())),
		"no exp":             hs(without("exp")),
		"exp null":           hs(set("exp", nil)),
		"exp a string":       hs(set("exp", "tomorrow")),
		"not yet":            hs(set("nbf", Noon.Add(time.Minute).Unix())),
		"wrong issuer":       hs(set("iss", "elsewhere")),
		"no issuer":          hs(without("iss")),
		"wrong audience":     hs(set("aud", "elsewhere")),
		"no audience":        hs(without("aud")),
		"no sub":             hs(without("sub")),
		"sub a name":         hs(set("sub", "alice")),
		"sub zero":           hs(set("sub", "0")),
		"sub negative":       hs(set("sub", "-1")),
		"sub with sign":      hs(set("sub", "+1")),
		"sub with space":     hs(set("sub", " 1")),
		"sub a fraction":     hs(set("sub", "1.5")),
		"sub too large":      hs(set("sub", "9007199254740992")),
		"sub beyond 64 bits": hs(set("sub", "18446744073709551617")),
		"sub a number":       hs(set("sub", 42)),
		"role a list":        hs(set("role", []string{"admin"})),
		"crit":               critical([]string{"exp"}),
		"crit empty":         critical([]string{}),
		"crit null":          critical(nil),
		"payload changed": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"43"}`)) +
			"." + parts[2],
		"loose bits":     LooseBits(whole),
		"signature cut":  parts[0] + "." + parts[1] + "." + parts[2][:10],
		"no signature":   parts[0] + "." + parts[1] + ".",
		"four parts":     whole + ".x",
		"trailing text":  whole + "=",
		"not a token":    "hello",
		"another scheme": "Basic YTpi",
		"very long":      hs(set("pad", strings.Repeat("p", authtoken.MaxLength))),
		"only Bearer":    "Bearer",
		"only dots":      "..",
	}
}

// claims are those of a good token.
func claims() jwt.MapClaims {
	return jwt.MapClaims{
		"sub": "42", "role": "admin", "iss": "login", "aud": "seckill", "exp": Noon.Add(time.Hour).Unix(),
	}
}

// signedWith returns a token of good claims after a change to them.
func signedWith(t *testing.T, m jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
	t.Helper()
	cl := claims()
	if change != nil {
		change(cl)
	}
	s, err := jwt.NewWithClaims(m, cl).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// LooseBits sets the two unused bits of the last letter: another text for the same signature.
func LooseBits(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(letters, token[len(token)-1])
	return token[:len(token)-1] + letters[last|1:last|1+1]
}

// ForgeryRules has the API ask for an issuer and an audience.
func ForgeryRules(cfg *Setup) { cfg.Tokens.Issuer, cfg.Tokens.Audience = "login", "seckill" }

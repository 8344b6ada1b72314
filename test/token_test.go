package test

import (
	"strconv"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// secret is the key that every server of these tests is started with, unless a test is about the secret itself.
const secret = "black-box-Secret-0123456789-abcdefghij-KLMNOPQRST"

// adminID is the user id in the administrator's token; no buyer of any test has it.
const adminID = 9_000_001

// buyerToken returns a token of an ordinary user, valid for an hour.
func buyerToken(user int64) string { return signed(secret, claimsOf(user, "")) }

// adminToken returns a token with the admin role, valid for an hour.
func adminToken() string { return signed(secret, claimsOf(adminID, "admin")) }

// claimsOf returns the claims that the service asks for; role is left out when empty.
func claimsOf(user int64, role string) jwt.MapClaims {
	c := jwt.MapClaims{"sub": strconv.FormatInt(user, 10), "exp": time.Now().Add(time.Hour).Unix()}
	if role != "" {
		c["role"] = role
	}
	return c
}

// signed returns the claims signed with HS256.
func signed(key string, claims jwt.MapClaims) string {
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key))
	if err != nil {
		// HS256 over a map of strings and numbers has no way to fail; a test that sees this has nothing to test.
		return "unsigned: " + err.Error()
	}
	return s
}

// forgedTokens are tokens that no server may accept, by what is wrong with them. Each claims to be the administrator.
func forgedTokens(tb testing.TB) map[string]string {
	tb.Helper()
	with := func(change func(jwt.MapClaims)) string {
		c := claimsOf(adminID, "admin")
		change(c)
		return signed(secret, c)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, claimsOf(adminID, "admin")).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		tb.Fatalf("making an unsigned token: %v", err)
	}
	stronger, err := jwt.NewWithClaims(jwt.SigningMethodHS512, claimsOf(adminID, "admin")).SignedString([]byte(secret))
	if err != nil {
		tb.Fatalf("making an HS512 token: %v", err)
	}
	genuine := adminToken()
	return map[string]string{
		"no token":              "",
		"not a token":           "let-me-in",
		"algorithm none":        unsigned,
		"another algorithm":     stronger,
		"another key":           signed(secret+"!", claimsOf(adminID, "admin")),
		"empty key":             signed("", claimsOf(adminID, "admin")),
		"signature cut off":     genuine[:len(genuine)-3],
		"expired":               with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"without expiry":        with(func(c jwt.MapClaims) { delete(c, "exp") }),
		"not valid yet":         with(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"without subject":       with(func(c jwt.MapClaims) { delete(c, "sub") }),
		"subject zero":          with(func(c jwt.MapClaims) { c["sub"] = "0" }),
		"subject negative":      with(func(c jwt.MapClaims) { c["sub"] = "-5" }),
		"subject not a number":  with(func(c jwt.MapClaims) { c["sub"] = "admin" }),
		"subject above 2^53":    with(func(c jwt.MapClaims) { c["sub"] = "9007199254740993" }),
		"subject above 2^64":    with(func(c jwt.MapClaims) { c["sub"] = "18446744073709551658" }),
		"subject as SQL":        with(func(c jwt.MapClaims) { c["sub"] = "1 OR 1=1" }),
		"expiry not a time":     with(func(c jwt.MapClaims) { c["exp"] = "tomorrow" }),
		"claims of another one": genuine[:len(genuine)/2] + buyerToken(7)[len(genuine)/2:],
	}
}

// Package idp is an identity provider for tests: keys, tokens, and a key server that fails on demand in the ways in
// which real ones do.
package idp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Key is a secret key of a provider.
type Key struct {
	Method jwt.SigningMethod
	Secret crypto.Signer
}

// Keys makes a key for each algorithm.
func Keys(tb testing.TB) map[string]Key {
	tb.Helper()
	r, errRSA := rsa.GenerateKey(rand.Reader, 2048)
	e, errEC := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, d, errEd := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(errRSA, errEC, errEd); err != nil {
		tb.Fatal(err)
	}
	return map[string]Key{
		"RS256": {jwt.SigningMethodRS256, r}, "ES256": {jwt.SigningMethodES256, e},
		"EdDSA": {jwt.SigningMethodEdDSA, d},
	}
}

// Set returns the JSON Web Key Set of the keys, by their kid. It also has a symmetric key, which does not belong there.
func Set(tb testing.TB, all map[string]Key) []byte {
	tb.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	keys := []map[string]any{{"kty": "oct", "kid": "secret", "k": encode(make([]byte, 32)), "alg": "HS256"}}
	for kid, k := range all {
		keys = append(keys, k.public(tb, kid))
	}
	b, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// public returns the public key as a member of a set.
func (k Key) public(tb testing.TB, kid string) map[string]any {
	tb.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	j := map[string]any{"kid": kid, "use": "sig", "alg": k.Method.Alg()}
	switch key := k.Secret.Public().(type) {
	case *rsa.PublicKey:
		j["kty"], j["n"], j["e"] = "RSA", encode(key.N.Bytes()), "AQAB"
	case *ecdsa.PublicKey:
		point, err := key.Bytes()
		if err != nil {
			tb.Fatal(err)
		}
		j["kty"], j["crv"], j["x"], j["y"] = "EC", "P-256", encode(point[1:33]), encode(point[33:])
	case ed25519.PublicKey:
		j["kty"], j["crv"], j["x"] = "OKP", "Ed25519", encode(key)
	}
	return j
}

// Sign returns a token with these claims, and these members in its header besides alg and typ.
func (k Key) Sign(tb testing.TB, header, claims map[string]any) string {
	tb.Helper()
	signed, err := k.sign(header, claims)
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}

func (k Key) sign(header, claims map[string]any) (string, error) {
	token := jwt.NewWithClaims(k.Method, jwt.MapClaims(claims))
	maps.Copy(token.Header, header)
	return token.SignedString(k.Secret)
}

package issuers

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

const (
	minRSA  = 2048 // bits
	maxRSA  = 8192 // bits: a check's time grows with their square
	maxKeys = 100  // of a set
)

// keyID names a key of a set: two keys of one kid may be of different algorithms.
type keyID struct {
	kid       string
	algorithm Algorithm
}

// jwk is a key of a set (RFC 7517, RFC 7518 and RFC 8037).
type jwk struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
	ID         string   `json:"kid"`
	Curve      string   `json:"crv"`
	N          string   `json:"n"`
	E          string   `json:"e"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
}

// parseKeys reads a key set. It leaves out keys for other uses or of other kinds, also secret keys (HMAC): a set is
// public. Errors: a key that is too weak or malformed, even among good ones; no usable key.
func parseKeys(b []byte) (map[keyID]crypto.PublicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, errors.New("is no JSON object with keys")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("has %d keys (allowed: %d)", len(set.Keys), maxKeys)
	}
	keys := map[keyID]crypto.PublicKey{}
	for n, raw := range set.Keys {
		var k jwk
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, fmt.Errorf("has no object as key %d", n)
		}
		algorithm, ok := k.algorithm()
		if !ok {
			continue
		}
		key, err := k.public(algorithm)
		if err != nil {
			return nil, fmt.Errorf("has a key %.40q that %w", k.ID, err)
		}
		id := keyID{k.ID, algorithm}
		if _, twice := keys[id]; twice {
			return nil, fmt.Errorf("has two keys %.40q for %s", k.ID, algorithm)
		}
		keys[id] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("has no key for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

// algorithm returns the algorithm that the key's type and curve stand for. It returns false for a key that this package
// does not use: of another type or curve, not meant for signatures, or declared for another algorithm.
func (k jwk) algorithm() (Algorithm, bool) {
	var a Algorithm
	switch {
	case k.Type == "RSA":
		a = RS256
	case k.Type == "EC" && k.Curve == "P-256":
		a = ES256
	case k.Type == "OKP" && k.Curve == "Ed25519":
		a = EdDSA
	default:
		return "", false
	}
	signs := (k.Use == "" || k.Use == "sig") && (k.Operations == nil || slices.Contains(k.Operations, "verify"))
	return a, signs && (k.Algorithm == "" || k.Algorithm == string(a))
}

func (k jwk) public(a Algorithm) (crypto.PublicKey, error) {
	switch a {
	case RS256:
		return k.rsa()
	case ES256:
		x, errX := number(k.X)
		y, errY := number(k.Y)
		if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
			return nil, errors.New("has no x and y of 32 bytes")
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err != nil {
			return nil, errors.New("is no point of P-256")
		}
		return key, nil
	case EdDSA:
		x, err := number(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, errors.New("has no x of 32 bytes")
		}
		return ed25519.PublicKey(x), nil
	}
	return nil, errors.New("is of no algorithm")
}

func (k jwk) rsa() (crypto.PublicKey, error) {
	n, errN := number(k.N)
	e, errE := number(k.E)
	if errN != nil || errE != nil || len(e) > 4 {
		return nil, errors.New("has no n and e")
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	switch bits := key.N.BitLen(); {
	case bits < minRSA || bits > maxRSA:
		return nil, fmt.Errorf("has %d bits (allowed: %d to %d)", bits, minRSA, maxRSA)
	case key.E < 3 || key.E%2 == 0 || key.E > 1<<31-1:
		return nil, fmt.Errorf("has the exponent %d", key.E)
	}
	return key, nil
}

func number(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }

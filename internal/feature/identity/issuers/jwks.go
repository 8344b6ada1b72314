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
	"maps"
	"math/big"
	"slices"
	"strings"
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
// public. It skips keys that are too weak or malformed, and different keys of one kid and algorithm, and returns why
// (RFC 7517, section 5); equal ones count once. It returns an error only if no key is usable.
func parseKeys(b []byte) (keys map[keyID]crypto.PublicKey, skipped []string, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, nil, errors.New("is no JSON object with keys")
	}
	if len(set.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("has %d keys (allowed: %d)", len(set.Keys), maxKeys)
	}
	keys = map[keyID]crypto.PublicKey{}
	for n, raw := range set.Keys {
		var k jwk
		if err := json.Unmarshal(raw, &k); err != nil {
			skipped = append(skipped, fmt.Sprintf("key %d is no object with texts", n))
			continue
		}
		algorithm, ok := k.algorithm()
		if !ok {
			continue
		}
		key, err := k.public(algorithm)
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("key %d, %.40q, %s", n, k.ID, err))
			continue
		}
		id := keyID{k.ID, algorithm}
		if other, twice := keys[id]; twice && !same(other, key) {
			skipped = append(skipped,
				fmt.Sprintf("key %d, %.40q, is another one for %s of the same kid", n, k.ID, algorithm))
			key = nil
		}
		keys[id] = key
	}
	maps.DeleteFunc(keys, func(_ keyID, key crypto.PublicKey) bool { return key == nil })
	if len(keys) == 0 {
		return nil, skipped, fmt.Errorf("has no usable key for RS256, ES256 or EdDSA%s", because(skipped))
	}
	return keys, skipped, nil
}

// because appends the reasons to an error.
func because(skipped []string) string {
	if len(skipped) == 0 {
		return ""
	}
	return ": " + strings.Join(skipped, "; ")
}

// same reports whether two keys are equal. A nil key, which stands for several different ones, equals none.
func same(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(x crypto.PublicKey) bool })
	return ok && k.Equal(b)
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

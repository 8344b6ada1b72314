package issuers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	lastSecond = 253402300799 // the end of the year 9999, in seconds since 1970
	mostWhole  = 1<<53 - 1    // the largest number that all readers of JSON read exactly
)

// tokenClaims are the claims of a provider's token, read strictly: each name once, and times as numbers.
type tokenClaims struct{ members map[string]json.RawMessage }

// UnmarshalJSON implements json.Unmarshaler.
func (c *tokenClaims) UnmarshalJSON(b []byte) (err error) {
	c.members, err = object(b)
	return err
}

// GetExpirationTime implements jwt.Claims.
func (c *tokenClaims) GetExpirationTime() (*jwt.NumericDate, error) { return c.date("exp") }

// GetNotBefore implements jwt.Claims.
func (c *tokenClaims) GetNotBefore() (*jwt.NumericDate, error) { return c.date("nbf") }

// GetIssuedAt implements jwt.Claims.
func (c *tokenClaims) GetIssuedAt() (*jwt.NumericDate, error) { return c.date("iat") }

// GetIssuer implements jwt.Claims.
func (c *tokenClaims) GetIssuer() (string, error) { return c.text("iss") }

// GetSubject implements jwt.Claims.
func (c *tokenClaims) GetSubject() (string, error) { return c.text("sub") }

// GetAudience implements jwt.Claims.
func (c *tokenClaims) GetAudience() (jwt.ClaimStrings, error) {
	raw := c.members["aud"]
	if one, ok := text(raw); ok {
		if one == "" {
			return nil, nil
		}
		return jwt.ClaimStrings{one}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("aud is no text and no list of texts")
	}
	all := make(jwt.ClaimStrings, 0, len(list))
	for _, raw := range list {
		one, ok := text(raw)
		if !ok || one == "" {
			return nil, errors.New("aud is no list of texts")
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *tokenClaims) text(name string) (string, error) {
	s, ok := text(c.members[name])
	if !ok {
		return "", fmt.Errorf("%s is no text", name)
	}
	return s, nil
}

// date reads a time; one that is missing or null is nil.
func (c *tokenClaims) date(name string) (*jwt.NumericDate, error) {
	raw := c.members[name]
	if raw == nil || string(raw) == "null" {
		return nil, nil //nolint:nilnil // as jwt.Claims requires
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > lastSecond {
		return nil, fmt.Errorf("%s is no number from 0 to %d", name, int64(lastSecond))
	}
	return jwt.NewNumericDate(time.Unix(int64(f), 0)), nil
}

// whole returns a claim, whose name comes from the file of issuers, as a whole number from 0 to most. Any other value
// counts as 0, as in the service's own tokens.
func (c *tokenClaims) whole(name string, most int64) int64 {
	if name == "" {
		return 0
	}
	n, err := strconv.ParseInt(string(c.members[name]), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return n
}

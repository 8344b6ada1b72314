package authtoken

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/voucher"
)

// reference is the verifier that Verifier must agree with: the JWT library and encoding/json, plus the stricter rules
// of the package comment.
type reference struct{ rules Rules }

func (r reference) verify(token string, now time.Time) (Identity, error) {
	own := [][]byte{r.rules.Secret, r.rules.Previous}
	if len(r.rules.Admin) == 0 {
		return r.verifyWith(token, now, own)
	}
	who, err := r.verifyWith(token, now, own)
	if err == nil {
		if who.Role != "" {
			return Identity{}, errors.New("the buyers' secret")
		}
		return who, nil
	}
	who, err = r.verifyWith(token, now, [][]byte{r.rules.Admin, r.rules.AdminPrevious})
	if err == nil && who.Role == "" {
		return Identity{}, errors.New("the admins' secret")
	}
	return who, err
}

// verifyWith verifies a token that one of the secrets has signed.
func (r reference) verifyWith(token string, now time.Time, secrets [][]byte) (Identity, error) {
	if len(token) > MaxLength || strings.ContainsAny(token, "\r\n") {
		return Identity{}, errors.New("too long, or contains line ends")
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	}
	if r.rules.Issuer != "" {
		options = append(options, jwt.WithIssuer(r.rules.Issuer))
	}
	if r.rules.Audience != "" {
		options = append(options, jwt.WithAudience(r.rules.Audience))
	}
	var c referenceClaims
	parser := jwt.NewParser(options...)
	_, err := parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		segment, _, _ := strings.Cut(t.Raw, ".")
		header, err := parser.DecodeSegment(segment)
		if err != nil {
			return nil, err
		}
		names, err := strictObject(header)
		if err != nil {
			return nil, err
		}
		if names["crit"] != nil {
			return nil, errors.New("crit")
		}
		var keys jwt.VerificationKeySet
		for _, secret := range secrets {
			if len(secret) > 0 {
				keys.Keys = append(keys.Keys, secret)
			}
		}
		return keys, nil
	})
	if err != nil {
		return Identity{}, err
	}
	id, err := strconv.ParseInt(c.Subject, 10, 64)
	if err != nil || id < 1 || id >= voucher.FirstForgotten || strconv.FormatInt(id, 10) != c.Subject {
		return Identity{}, errors.New("subject")
	}
	account := id >= voucher.FirstAccount && id <= voucher.LastAccount
	buyer := !slices.Contains([]string{"admin", "till", "merchant", "crowd"}, c.role)
	mayBe := map[bool]bool{true: account, false: !account} // by whether it is a session's
	if r.rules.SessionsOnly && buyer {
		mayBe[true], mayBe[false] = id <= voucher.LastAccount, id > voucher.LastAccount
	}
	if r.rules.Accounts && !mayBe[c.via == "session"] {
		return Identity{}, errors.New("account")
	}
	who := Identity{UserID: id, Expires: c.ExpiresAt.Time, Level: c.level}
	switch c.role {
	case "admin":
		who.Role = c.role
	case "till", "merchant":
		who.Role, who.Shop = c.role, c.shop
	case "crowd":
		who.Role, who.Crowd = c.role, c.voucher
	}
	if c.IssuedAt != nil {
		who.Issued = c.IssuedAt.Time
	}
	if who.Session = c.via == "session"; who.Issued.Sub(now) > time.Minute {
		return Identity{}, errors.New("ahead")
	}
	if c.since > 0 {
		who.Since = time.Unix(c.since, 0)
	}
	if life := r.rules.Life(who.Role); life > 0 {
		if c.IssuedAt == nil || who.Expires.Sub(c.IssuedAt.Time) > life || who.Expires.Sub(now) > life+time.Minute {
			return Identity{}, errors.New("life")
		}
	}
	return who, nil
}

// referenceClaims are the claims, read strictly.
type referenceClaims struct {
	jwt.RegisteredClaims
	role, via     string
	shop, voucher int64
	level, since  int64
}

func (c *referenceClaims) UnmarshalJSON(b []byte) error {
	names, err := strictObject(b)
	if err != nil {
		return err
	}
	for name, into := range map[string]any{
		"iss": &c.Issuer, "sub": &c.Subject, "aud": &c.Audience, "jti": &c.ID, "role": &c.role, "via": &c.via,
		"exp": &c.ExpiresAt, "nbf": &c.NotBefore, "iat": &c.IssuedAt,
	} {
		raw, ok := names[name]
		if !ok || string(raw) == "null" {
			continue
		}
		if _, isTime := into.(**jwt.NumericDate); isTime {
			if f, err := strconv.ParseFloat(string(raw), 64); err != nil || f < 0 || f > 253402300799 {
				return fmt.Errorf("%s is %s", name, raw)
			}
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
	}
	c.shop = wholeNumber(names["shop"], voucher.MaxID)
	c.voucher = wholeNumber(names["voucher"], voucher.MaxID)
	c.level = wholeNumber(names["level"], voucher.MaxID)
	c.since = wholeNumber(names["since"], 253402300799)
	return nil
}

// wholeNumber reads a whole number up to most, without sign, fraction or exponent. Anything else is 0.
func wholeNumber(raw json.RawMessage, most int64) int64 {
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil || string(raw) != strconv.FormatInt(n, 10) || n < 0 || n > most {
		return 0
	}
	return n
}

// strictObject returns the members of a JSON object in UTF-8. Duplicate names are an error.
func strictObject(b []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(b) || !json.Valid(b) {
		return nil, errors.New("not JSON in UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("no object")
	}
	names := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, twice := names[name]; twice {
			return nil, fmt.Errorf("%q twice", name)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil { // a number beyond float64
			return nil, err
		}
		names[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows")
	}
	return names, nil
}

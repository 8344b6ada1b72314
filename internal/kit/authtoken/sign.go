package authtoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/internal/voucher"
)

// Sign makes a token for tests and for trying the service out; real ones come from the service that knows the users. It
// is valid for ttl from now, in whole seconds. role is "" or RoleAdmin. Sign refuses to make tokens that the rules
// reject: a ttl beyond the role's longest life is an error, and a short secret is ErrWeakSecret.
func Sign(r Rules, userID int64, role string, ttl time.Duration, now time.Time) (string, error) {
	if role != "" && role != RoleAdmin {
		return "", fmt.Errorf("authtoken: role %q is not known (allowed: %q or none; SignIn for roles in a shop)",
			role, RoleAdmin)
	}
	return signFor(r, userID, role, extraClaims{}, ttl, now)
}

// SignBuyer is Sign for a buyer's token with the account's level (0: none) and creation time (zero: none).
func SignBuyer(r Rules, userID, level int64, since time.Time, ttl time.Duration, now time.Time) (string, error) {
	e := extraClaims{Level: level}
	if !since.IsZero() {
		e.Since = since.Unix()
	}
	if level < 0 || level > voucher.MaxID || e.Since < 0 || e.Since > lastSecond {
		return "", fmt.Errorf("authtoken: level %d or since %s is out of range (allowed: 0 to %d, the years 1970 to "+
			"9999)", level, since, voucher.MaxID)
	}
	return signFor(r, userID, "", e, ttl, now)
}

// SignSession makes the token of a session, valid until the given time, for an account that signed in by an identity
// provider at signedIn.
func SignSession(r Rules, account, level int64, since, signedIn, until, now time.Time) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	switch {
	case account < voucher.FirstAccount || account > voucher.LastAccount:
		return "", fmt.Errorf("authtoken: %d is no account", account)
	case !until.After(now), signedIn.IsZero():
		return "", fmt.Errorf("authtoken: a session cannot begin at %s and end at %s", signedIn, until)
	case level < 0 || level > voucher.MaxID:
		return "", fmt.Errorf("authtoken: level %d is out of range (allowed: 0 to %d)", level, voucher.MaxID)
	}
	c := signedClaims{
		Subject: strconv.FormatInt(account, 10), Via: viaSession, Issuer: r.Issuer, Audience: r.Audience,
		Expires: until.Unix(), Issued: signedIn.Unix(), extraClaims: extraClaims{Level: level},
	}
	if !since.IsZero() {
		c.Since = since.Unix()
	}
	return signClaims(r.Secret, c)
}

// extraClaims describe the account beyond its role.
type extraClaims struct {
	Shop  int64 `json:"shop,omitempty"`
	Level int64 `json:"level,omitempty"`
	Since int64 `json:"since,omitempty"`
}

// SignIn is Sign for a token of a till or a merchant, in a shop.
func SignIn(
	r Rules, userID int64, role string, shopID int64, ttl time.Duration, now time.Time,
) (string, error) {
	if role != RoleTill && role != RoleMerchant {
		return "", fmt.Errorf("authtoken: role %q is of no shop (allowed: %q, %q)", role, RoleTill, RoleMerchant)
	}
	if shopID < 1 || shopID > voucher.MaxID {
		return "", fmt.Errorf("authtoken: shop id %d is not from 1 to %d", shopID, voucher.MaxID)
	}
	return signFor(r, userID, role, extraClaims{Shop: shopID}, ttl, now)
}

func signFor(r Rules, userID int64, role string, extra extraClaims, ttl time.Duration, now time.Time) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	longest := r.Life(role)
	switch {
	case userID < 1 || userID > voucher.MaxID:
		return "", fmt.Errorf("authtoken: user id %d is not from 1 to %d", userID, voucher.MaxID)
	case ttl < time.Second:
		return "", fmt.Errorf("authtoken: a token cannot be valid for %s (allowed: 1s or more)", ttl)
	case longest > 0 && ttl > longest:
		return "", fmt.Errorf("authtoken: a token of this role cannot be valid for %s (allowed: at most %s)",
			ttl, longest)
	}
	return signClaims(r.SecretOf(role), signedClaims{
		Role: role, extraClaims: extra, Issuer: r.Issuer, Subject: strconv.FormatInt(userID, 10), Audience: r.Audience,
		Expires: now.Unix() + int64(ttl/time.Second), Issued: now.Unix(),
	})
}

// signedClaims are those of tokens that are signed here.
type signedClaims struct {
	Role string `json:"role,omitempty"`
	extraClaims

	Issuer   string `json:"iss,omitempty"`
	Subject  string `json:"sub"`
	Audience string `json:"aud,omitempty"`
	Expires  int64  `json:"exp"`
	Issued   int64  `json:"iat"`
	Via      string `json:"via,omitempty"`
}

func signClaims(secret []byte, c signedClaims) (string, error) {
	claims, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("authtoken: %w", err)
	}
	return sign(secret, []byte(`{"alg":"HS256","typ":"JWT"}`), claims), nil
}

// sign returns a token with any header and claims.
func sign(secret, header, claims []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	return signText(secret, encode(header)+"."+encode(claims))
}

// signText appends the signature to a token's header and claims.
func signText(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text)) // never fails, by its documentation
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

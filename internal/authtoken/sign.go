package authtoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// Session holds the claims of a session's token: the account signed in by an identity provider at SignedIn, and the
// token is valid until Until. With Rules.SessionsOnly, a buyer's Account may be their number at the provider. Role is
// RoleBuyer, RoleAdmin, or RoleMerchant or RoleTill with their Shop.
type Session struct {
	Account         int64
	Role            string
	Shop            int64
	Level           int64
	Since           time.Time
	SignedIn, Until time.Time
}

// SignSession makes the token of a session. It refuses roles above a buyer's while they have no secret of their own.
func SignSession(r Rules, s Session, now time.Time) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	inShop := s.Role == RoleMerchant || s.Role == RoleTill
	switch {
	case (s.Account < voucher.FirstAccount || s.Account > voucher.LastAccount) && !isOwnNumber(&r, s.Account, s.Role):
		return "", fmt.Errorf("authtoken: %d is no account", s.Account)
	case !s.Until.After(now), s.SignedIn.IsZero():
		return "", fmt.Errorf("authtoken: a session cannot begin at %s and end at %s", s.SignedIn, s.Until)
	case s.Level < 0 || s.Level > voucher.MaxID:
		return "", fmt.Errorf("authtoken: level %d is out of range (allowed: 0 to %d)", s.Level, voucher.MaxID)
	case !inShop && s.Role != RoleBuyer && s.Role != RoleAdmin:
		return "", fmt.Errorf("authtoken: a session cannot have the role %q", s.Role)
	case inShop != (s.Shop != 0), s.Shop < 0 || s.Shop > voucher.MaxID:
		return "", fmt.Errorf("authtoken: a session with the role %q cannot be of shop %d", s.Role, s.Shop)
	case s.Role != RoleBuyer && len(r.Admin) == 0:
		return "", fmt.Errorf("authtoken: a session with the role %q needs the admins' secret", s.Role)
	}
	c := signedClaims{
		Subject: strconv.FormatInt(s.Account, 10), Role: s.Role, Via: viaSession, Issuer: r.Issuer,
		Audience: r.Audience, Expires: s.Until.Unix(), Issued: s.SignedIn.Unix(),
		extraClaims: extraClaims{Shop: s.Shop, Level: s.Level},
	}
	if !s.Since.IsZero() {
		c.Since = s.Since.Unix()
	}
	return signClaims(r.SecretOf(s.Role), c)
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
	case r.SessionsOnly && role == RoleBuyer && userID <= voucher.LastAccount:
		return "", errors.New("authtoken: buyers' tokens are those of sessions alone (SECKILL_JWT_DIRECT=false)")
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

// signedClaims are the claims of the tokens that this package signs.
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

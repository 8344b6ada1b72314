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

// Account is who a token is made for.
type Account struct {
	User  int64
	Role  string // RoleBuyer, RoleAdmin, or RoleMerchant or RoleTill with their Shop
	Shop  int64
	Level int64     // 0: none
	Since time.Time // when the account was created; zero: not known
}

// check returns an error for what no token can say of an account.
func (a Account) check() error {
	inShop := a.Role == RoleMerchant || a.Role == RoleTill
	switch {
	case !inShop && a.Role != RoleBuyer && a.Role != RoleAdmin:
		return fmt.Errorf("authtoken: the role %q is not known (allowed: %q, %q, %q or none)",
			a.Role, RoleAdmin, RoleMerchant, RoleTill)
	case inShop != (a.Shop != 0), a.Shop < 0 || a.Shop > voucher.MaxID:
		return fmt.Errorf("authtoken: a token with the role %q cannot be of shop %d", a.Role, a.Shop)
	case a.Level < 0 || a.Level > voucher.MaxID:
		return fmt.Errorf("authtoken: level %d is out of range (allowed: 0 to %d)", a.Level, voucher.MaxID)
	}
	return nil
}

// Sign makes a token for tests and for trying the service out; real ones come from the service that knows the users. It
// is valid for ttl from now, in whole seconds. Sign refuses to make tokens that the rules reject: a ttl beyond the
// role's longest life is an error, and a short secret is ErrWeakSecret.
func Sign(r Rules, of Account, ttl time.Duration, now time.Time) (string, error) {
	if err := errors.Join(r.check(), of.check()); err != nil {
		return "", err
	}
	longest := r.Life(of.Role)
	switch {
	case of.User < 1 || of.User > voucher.MaxID:
		return "", fmt.Errorf("authtoken: user id %d is not from 1 to %d", of.User, voucher.MaxID)
	case !of.Since.IsZero() && (of.Since.Unix() < 0 || of.Since.Unix() > lastSecond):
		return "", fmt.Errorf("authtoken: since %s is out of range (allowed: the years 1970 to 9999)", of.Since)
	case r.SessionsOnly && of.Role == RoleBuyer && of.User <= voucher.LastAccount:
		return "", errors.New("authtoken: buyers' tokens are those of sessions alone (SECKILL_JWT_DIRECT=false)")
	case ttl < time.Second:
		return "", fmt.Errorf("authtoken: a token cannot be valid for %s (allowed: 1s or more)", ttl)
	case longest > 0 && ttl > longest:
		return "", fmt.Errorf("authtoken: a token of this role cannot be valid for %s (allowed: at most %s)",
			ttl, longest)
	}
	return signClaims(r, of, signedClaims{Expires: now.Unix() + int64(ttl/time.Second), Issued: now.Unix()})
}

// Session holds the claims of a session's token: the account signed in by an identity provider at SignedIn, and the
// token is valid until Until. With Rules.SessionsOnly, a buyer's User may be their number at the provider.
type Session struct {
	Account

	SignedIn, Until time.Time
}

// SignSession makes the token of a session. It refuses roles above a buyer's while they have no secret of their own.
func SignSession(r Rules, s Session, now time.Time) (string, error) {
	if err := errors.Join(r.check(), s.check()); err != nil {
		return "", err
	}
	switch {
	case (s.User < voucher.FirstAccount || s.User > voucher.LastAccount) && !isOwnNumber(&r, s.User, s.Role):
		return "", fmt.Errorf("authtoken: %d is no account", s.User)
	case !s.Until.After(now), s.SignedIn.IsZero():
		return "", fmt.Errorf("authtoken: a session cannot begin at %s and end at %s", s.SignedIn, s.Until)
	case s.Role != RoleBuyer && len(r.Admin) == 0:
		return "", fmt.Errorf("authtoken: a session with the role %q needs the admins' secret", s.Role)
	}
	return signClaims(r, s.Account, signedClaims{
		Via: viaSession, Expires: s.Until.Unix(), Issued: s.SignedIn.Unix(),
	})
}

// signedClaims are the claims of the tokens that this package signs.
type signedClaims struct {
	Role     string `json:"role,omitempty"`
	Shop     int64  `json:"shop,omitempty"`
	Level    int64  `json:"level,omitempty"`
	Since    int64  `json:"since,omitempty"`
	Issuer   string `json:"iss,omitempty"`
	Subject  string `json:"sub"`
	Audience string `json:"aud,omitempty"`
	Expires  int64  `json:"exp"`
	Issued   int64  `json:"iat"`
	Via      string `json:"via,omitempty"`
}

// signClaims signs the claims and those of the account.
func signClaims(r Rules, of Account, c signedClaims) (string, error) {
	c.Issuer, c.Subject, c.Audience = r.Issuer, strconv.FormatInt(of.User, 10), r.Audience
	if c.Role, c.Shop, c.Level = of.Role, of.Shop, of.Level; !of.Since.IsZero() {
		c.Since = of.Since.Unix()
	}
	claims, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("authtoken: %w", err)
	}
	return sign(r.secretOf(of.Role), []byte(`{"alg":"HS256","typ":"JWT"}`), claims), nil
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

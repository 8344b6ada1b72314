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
		return "", fmt.Errorf("authtoken: role %q is not known (allowed: %q or none; SignTill for %q)",
			role, RoleAdmin, RoleTill)
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

// extraClaims describe the account beyond its role.
type extraClaims struct {
	Shop  int64 `json:"shop,omitempty"`
	Level int64 `json:"level,omitempty"`
	Since int64 `json:"since,omitempty"`
}

// SignTill is Sign for a token of a till in a shop.
func SignTill(r Rules, userID, shopID int64, ttl time.Duration, now time.Time) (string, error) {
	if shopID < 1 || shopID > voucher.MaxID {
		return "", fmt.Errorf("authtoken: shop id %d is not from 1 to %d", shopID, voucher.MaxID)
	}
	return signFor(r, userID, RoleTill, extraClaims{Shop: shopID}, ttl, now)
}

func signFor(r Rules, userID int64, role string, extra extraClaims, ttl time.Duration, now time.Time) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	longest := r.Life(role == RoleAdmin)
	switch {
	case userID < 1 || userID > voucher.MaxID:
		return "", fmt.Errorf("authtoken: user id %d is not from 1 to %d", userID, voucher.MaxID)
	case ttl < time.Second:
		return "", fmt.Errorf("authtoken: a token cannot be valid for %s (allowed: 1s or more)", ttl)
	case longest > 0 && ttl > longest:
		return "", fmt.Errorf("authtoken: a token of this role cannot be valid for %s (allowed: at most %s)",
			ttl, longest)
	}
	claims, err := json.Marshal(struct {
		Role string `json:"role,omitempty"`
		extraClaims
		Issuer   string `json:"iss,omitempty"`
		Subject  string `json:"sub"`
		Audience string `json:"aud,omitempty"`
		Expires  int64  `json:"exp"`
		Issued   int64  `json:"iat"`
	}{
		role, extra, r.Issuer, strconv.FormatInt(userID, 10), r.Audience,
		now.Unix() + int64(ttl/time.Second), now.Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("authtoken: %w", err)
	}
	return sign(r.Secret, []byte(`{"alg":"HS256","typ":"JWT"}`), claims), nil
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

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

// Sign makes a token for trying things out and for tests; real ones come from the service that knows the users. It is
// valid for ttl from now, in whole seconds. role is "" or RoleAdmin. What the rules would not accept is not signed: a
// ttl beyond the role's longest life is an error, a short secret ErrWeakSecret.
func Sign(r Rules, userID int64, role string, ttl time.Duration, now time.Time) (string, error) {
	if role != "" && role != RoleAdmin {
		return "", fmt.Errorf("authtoken: role %q is not known (allowed: %q or none; SignTill for %q)",
			role, RoleAdmin, RoleTill)
	}
	return signFor(r, userID, role, extraClaims{}, ttl, now)
}

// SignBuyer makes a token of a buyer whose account has a level (0: none) and an age (since zero: none), as Sign does.
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

// extraClaims are those that say more of an account than its role.
type extraClaims struct {
	Shop  int64 `json:"shop,omitempty"`
	Level int64 `json:"level,omitempty"`
	Since int64 `json:"since,omitempty"`
}

// SignTill makes a token of a till in a shop, as Sign does.
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

// sign returns a token of any header and claims.
func sign(secret, header, claims []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	return signText(secret, encode(header)+"."+encode(claims))
}

// signText returns a token of what stands before its signature.
func signText(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text)) // never fails, by its documentation
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

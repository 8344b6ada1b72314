package box

import (
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/voucher"
)

// Secret is the key that every server uses, unless a test is about the secret itself.
const Secret = "black-box-Secret-0123456789-abcdefghij-KLMNOPQRST"

// AdminID is the user in the administrator's token; no buyer of any test has this id.
const AdminID = 9_000_001

// tokenLife exceeds the deviations of the tests' clocks.
const tokenLife = 3 * time.Hour

// BuyerToken returns a token of an ordinary user, valid for three hours.
func BuyerToken(user int64) string { return Sign(Secret, Claims(user, "")) }

// AdminToken returns a token with the admin role, valid for three hours.
func AdminToken() string { return Sign(Secret, Claims(AdminID, "admin")) }

// CrowdToken returns a token of the crowd of a rehearsal, valid for three hours.
func CrowdToken(rehearsal int64) string {
	c := Claims(voucher.FirstRehearsalUser, "crowd")
	c["voucher"] = rehearsal
	return Sign(Secret, c)
}

// Claims returns the claims that the service requires; an empty role is omitted.
func Claims(user int64, role string) jwt.MapClaims {
	c := jwt.MapClaims{"sub": strconv.FormatInt(user, 10), "exp": time.Now().Add(tokenLife).Unix()}
	if role != "" {
		c["role"] = role
	}
	return c
}

// Sign returns a token with the claims, signed with HS256.
func Sign(key string, claims jwt.MapClaims) string {
	s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key))
	if err != nil {
		// Cannot happen: signing strings and numbers with HS256 does not fail. A service refuses this text.
		return "unsigned: " + err.Error()
	}
	return s
}

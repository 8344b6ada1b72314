package httpkit

import (
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/voucher/guards"
)

// Identity identifies the caller. The zero identity is nobody.
type Identity struct {
	UserID  int64
	Role    string    // a role of package authtoken
	Shop    int64     // that a till stands in; 0: no till
	Crowd   int64     // the rehearsal that they play; 0: none
	Expires time.Time // the token's exp; what lasts longer ends then
	Claims  guards.Claims
}

// Admin reports whether the caller is an admin.
func (who Identity) Admin() bool { return who.Role == authtoken.RoleAdmin }

// Left returns how long the caller's token is still valid at the time now.
func (who Identity) Left(now time.Time) time.Duration { return who.Expires.Sub(now) }

package guard

import (
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/voucher/guards"
)

// CoolDownCheck is the guard "coolDown".
type CoolDownCheck struct{ Users *cooldown.Users }

// Name implements Guard.
func (CoolDownCheck) Name() guards.Name { return guards.CoolDownGuard }

// Check implements Guard with a *cooldown.Error.
func (g CoolDownCheck) Check(r *Request) error {
	return g.Users.Check(r.Sale.Settings.CoolDown, r.Caller.UserID)
}

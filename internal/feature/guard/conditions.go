package guard

import (
	"fmt"
	"time"

	"seckill/internal/voucher/guards"
)

// NotEligibleError says which condition an account does not meet.
type NotEligibleError struct {
	Condition string // the field's name in the settings: minLevel or minAgeDays
	Wanted    int64
}

func (e *NotEligibleError) Error() string {
	return fmt.Sprintf("the account does not meet the sale's %s of %d", e.Condition, e.Wanted)
}

// ConditionsCheck is the guard "conditions".
type ConditionsCheck struct{}

// Name implements Guard.
func (ConditionsCheck) Name() guards.Name { return guards.ConditionsGuard }

// Check implements Guard with a *NotEligibleError. A claim that the token lacks fails its condition.
func (ConditionsCheck) Check(r *Request) error {
	c, claims := r.Sale.Settings.Conditions, &r.Caller.Claims
	switch {
	case claims.Level < c.MinLevel:
		return &NotEligibleError{"minLevel", c.MinLevel}
	case c.MinAgeDays > 0 &&
		(claims.Since.IsZero() || r.Now.Sub(claims.Since) < time.Duration(c.MinAgeDays)*24*time.Hour):
		return &NotEligibleError{"minAgeDays", c.MinAgeDays}
	}
	return nil
}

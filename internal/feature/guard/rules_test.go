package guard

import (
	"errors"
	"fmt"
	"testing"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/voucher/guards"
)

// Every refusal has one rule, which is looked at early; that a guard stops somebody says nothing without why.
func TestRules(t *testing.T) {
	t.Parallel()
	matching := func(err error) (codes []string) {
		for _, r := range Rules() {
			if r.Matches(err) && r.Early {
				codes = append(codes, r.Failure.Code)
			}
		}
		return codes
	}
	for want, refusals := range map[string][]error{
		"RATE_LIMITED":       {&budget.RateError{}},
		"COOL_DOWN":          {&cooldown.Error{}},
		"NOT_ELIGIBLE":       {&NotEligibleError{}},
		"NOT_STARTED":        {&ticket.EarlyError{}, &TicketsLaterError{}},
		"TICKET_REQUIRED":    {ticket.ErrRequired},
		"TICKET_INVALID":     {ticket.ErrInvalid},
		"CHALLENGE_REQUIRED": {&ChallengeError{}},
		"NO_TICKETS":         {ErrNoTickets},
		"UNAVAILABLE":        {ticket.ErrTryAgain, challenge.ErrTryAgain, challenge.ErrBusy},
	} {
		for _, why := range refusals {
			err := fmt.Errorf("of a sale: %w", &StoppedError{Guard: guards.LimitsGuard, Why: why})
			if got := matching(err); len(got) != 1 || got[0] != want {
				t.Errorf("%v is answered %v, want %s", why, got, want)
			}
		}
	}
	if got := matching(&StoppedError{Why: errors.New("no reason")}); got != nil {
		t.Errorf("no reason is answered %v", got)
	}
}

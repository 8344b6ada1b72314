package budget

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/voucher/guards"
)

const (
	exchangeEvery   = time.Second
	exchangeTimeout = time.Second // one exchange
)

// Swap publishes what was spent here, if anything, and returns what others have published after the cursor and within
// the last seconds, and the cursor behind it; "" is the beginning. The name is unique to the process.
type Swap func(ctx context.Context, name, after string, here []Spent) (elsewhere []Spent, cursor string, err error)

// Exchange tells the other instances each second what callers have spent of their budgets here, and takes what
// they have spent elsewhere from the budgets here, while a sale has limits, shares or a challenge. So several instances
// together let a caller do in the long run what one would, wherever a balancer sends them. No request waits for it.
//
// What an exchange cannot tell is given up: told later, it would keep callers out who have waited long enough.
type Exchange struct {
	limits  *Table
	swap    Swap
	name    string
	anySale func(func(*guards.Settings) bool) bool
	log     *slog.Logger
	cursor  string
	failing bool
}

// NewExchange returns an exchange of the budgets of limits, which must not be in use yet; Run starts it. anySale
// reports whether a function is true of the settings of any sale here.
func NewExchange(
	limits *Table, swap Swap, name string, anySale func(func(*guards.Settings) bool) bool,
	log *slog.Logger,
) *Exchange {
	limits.spending = newSpending()
	return &Exchange{limits: limits, swap: swap, name: name, anySale: anySale, log: log}
}

// Run exchanges until ctx ends.
func (e *Exchange) Run(ctx context.Context) error {
	return periodic.Every(ctx, exchangeEvery, e.round)
}

func (e *Exchange) round(ctx context.Context) {
	here := e.limits.spending.take()
	if len(here) == 0 &&
		!e.anySale(func(s *guards.Settings) bool {
			return s != nil && (s.Limits != nil || s.Challenge != nil || s.Units != nil)
		}) {
		return
	}
	exchanging, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	elsewhere, cursor, err := e.swap(exchanging, e.name, e.cursor, here)
	if err == nil {
		e.cursor = cursor
		e.limits.spentElsewhere(elsewhere)
	}
	if err != nil && !e.failing && ctx.Err() == nil {
		e.log.WarnContext(ctx,
			"instances cannot tell each other what callers have asked; each applies the limits by itself", "error", err)
	}
	e.failing = err != nil
}

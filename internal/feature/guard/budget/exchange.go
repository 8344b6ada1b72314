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

// Swap publishes the spending here, if any. It returns the spending that other instances published after the cursor
// and within the last seconds, and the cursor behind it; "" is the beginning. The name is unique to the process.
type Swap func(ctx context.Context, name, after string, here []Spent) (elsewhere []Spent, cursor string, err error)

// Exchange publishes each second to the other instances how much callers have spent of their budgets here, and takes
// their spending elsewhere from the budgets here, while a sale has limits, shares or a challenge. So several instances
// together let a caller do in the long run as much as a single instance would, wherever a balancer sends them. No
// request waits for it.
//
// Spending that cannot be published is dropped: published later, it would keep callers out who have waited long
// enough.
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
// reports whether the given function returns true for the settings of any sale here.
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

package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/guard"
	"seckill/internal/redisstore/rediskit"
)

const (
	// spendingKept is for how long instances find what was told: a new one, and one that was frozen.
	spendingKept = 10 * time.Second
	// maxTold is how many times another instance is heard in one exchange: once in a second, if there are a hundred.
	maxTold = 100
)

// ExchangeSpending implements guard.SpendingStore.
func (s *Store) ExchangeSpending(
	ctx context.Context, name, after string, here []guard.Spent,
) (elsewhere []guard.Spent, cursor string, err error) {
	raw, err := s.scripts.exchangeSpending.Run(ctx, s.in(0), []string{s.keys.spending()},
		name, cmp.Or(after, "0"), spendingKept.Milliseconds(), maxTold, spendingText(here))
	if err != nil {
		return nil, "", fmt.Errorf("exchanging what callers have spent: %w", err)
	}
	r := rediskit.NewReply(raw)
	cursor = r.Text()
	for r.More() {
		ago := time.Duration(r.Number()) * time.Microsecond
		elsewhere = append(elsewhere, parseSpending(r.Text(), ago)...)
	}
	return elsewhere, cursor, r.Err
}

// spendingText is pairs of a budget and nanoseconds, all separated by spaces.
func spendingText(here []guard.Spent) string {
	var text []byte
	for i, spent := range here {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, spent.Budget...), ' ')
		text = strconv.AppendInt(text, spent.Time.Nanoseconds(), 10)
	}
	return string(text)
}

// parseSpending reads what an instance has told: its name, the time, and pairs. It leaves out what is none: nothing
// that somebody wrote there may keep the others from being heard.
func parseSpending(text string, ago time.Duration) (told []guard.Spent) {
	fields := strings.Fields(text)
	for i := 2; i+1 < len(fields); i += 2 {
		if ns, err := strconv.ParseInt(fields[i+1], 10, 64); err == nil {
			told = append(told, guard.Spent{Budget: fields[i], Time: time.Duration(ns), Ago: ago})
		}
	}
	return told
}

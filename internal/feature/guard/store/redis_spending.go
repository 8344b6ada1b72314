package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/redisstore/rediskit"
)

const (
	// spendingKept is how long published spending can be read, for an instance that has just started or was frozen.
	spendingKept = 10 * time.Second
	// maxTold bounds how many publications one exchange reads: one a second from each of a hundred instances.
	maxTold = 100
)

// ExchangeSpending implements budget.Swap.
func (r *Redis) ExchangeSpending(
	ctx context.Context, name, after string, here []budget.Spent,
) (elsewhere []budget.Spent, cursor string, err error) {
	raw, err := r.exchange.Run(ctx, r.partitions.In(0), []string{r.spendingKey()},
		name, cmp.Or(after, "0"), spendingKept.Milliseconds(), maxTold, spendingText(here))
	if err != nil {
		return nil, "", fmt.Errorf("exchanging what callers have spent: %w", err)
	}
	reply := rediskit.NewReply(raw)
	cursor = reply.Text()
	for reply.More() {
		ago := time.Duration(reply.Number()) * time.Microsecond
		elsewhere = append(elsewhere, parseSpending(reply.Text(), ago)...)
	}
	return elsewhere, cursor, reply.Err
}

// spendingKey is the key of the spending that instances publish (sorted set: "instance time budgets" → microseconds
// since 1970).
func (r *Redis) spendingKey() string { return r.partitions.Key(0, "spending") }

// spendingText writes pairs of a budget and nanoseconds, all separated by spaces.
func spendingText(here []budget.Spent) string {
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

// parseSpending reads what an instance has published: its name, the time, and pairs. It skips malformed pairs, so that
// one faulty publication does not hide the others.
func parseSpending(text string, ago time.Duration) (told []budget.Spent) {
	fields := strings.Fields(text)
	for i := 2; i+1 < len(fields); i += 2 {
		if ns, err := strconv.ParseInt(fields[i+1], 10, 64); err == nil {
			told = append(told, budget.Spent{Budget: fields[i], Time: time.Duration(ns), Ago: ago})
		}
	}
	return told
}

package guard

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/redisstore/rediskit"
)

const (
	// spendingKept is for how long instances find what was told: a new one, and one that was frozen.
	spendingKept = 10 * time.Second
	// maxTold is how many times another instance is heard in one exchange: once in a second, if there are a hundred.
	maxTold = 100
)

// ExchangeSpending implements SpendingStore.
func (r *Redis) ExchangeSpending(
	ctx context.Context, name, after string, here []Spent,
) (elsewhere []Spent, cursor string, err error) {
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

// spendingKey is what instances tell each other of callers' budgets (sorted set: "instance time budgets" →
// microseconds since 1970).
func (r *Redis) spendingKey() string { return r.partitions.Key(0, "spending") }

// spendingText is pairs of a budget and nanoseconds, all separated by spaces.
func spendingText(here []Spent) string {
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
func parseSpending(text string, ago time.Duration) (told []Spent) {
	fields := strings.Fields(text)
	for i := 2; i+1 < len(fields); i += 2 {
		if ns, err := strconv.ParseInt(fields[i+1], 10, 64); err == nil {
			told = append(told, Spent{Budget: fields[i], Time: time.Duration(ns), Ago: ago})
		}
	}
	return told
}

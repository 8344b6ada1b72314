package stages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// listQueue is a Redis list. Popping an order removes it: from then until the commit only this process knows it.
type listQueue struct{ shop *shop }

func (listQueue) kind() string  { return "list" }
func (listQueue) push(purchase) {} // the script has queued it

func (q listQueue) consume(ctx context.Context, record func(context.Context, purchase) error) error {
	for ctx.Err() == nil {
		// Does not end with ctx: an answer that is under way would be a lost order.
		popped, err := q.shop.rdb.BRPop(context.WithoutCancel(ctx), time.Second, q.shop.queueKey(q.kind())).Result()
		switch {
		case errors.Is(err, redis.Nil):
			continue
		case err != nil:
			return fmt.Errorf("popping: %w", err)
		}
		p, err := parsePurchase(popped[1])
		if err == nil {
			err = record(context.WithoutCancel(ctx), p)
		}
		if err != nil {
			return fmt.Errorf("recording %q: %w", popped[1], err)
		}
	}
	return nil
}

// parsePurchase parses the script's text.
func parsePurchase(text string) (p purchase, err error) {
	_, err = fmt.Sscan(text, &p.id, &p.user, &p.voucher)
	return p, err
}

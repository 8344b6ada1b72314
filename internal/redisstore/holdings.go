package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

// Holdings implements service.Holdings. If an order id cannot be read, it returns no order, and Whole is false.
func (s *Store) Holdings(ctx context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error) {
	held := make([]order.Holding, len(sales))
	for _, part := range viewParts(sales) {
		raw, err := s.scripts.holdings.Run(ctx, s.in(sales[part[0]].Partition), s.viewKeys(sales, part), userID)
		if err != nil {
			return nil, fmt.Errorf("reading what user %d holds in %d sales: %w", userID, len(part), err)
		}
		r := rediskit.NewReply(raw)
		for _, i := range part {
			held[i] = holdingOf(r)
		}
		if r.Err != nil {
			return nil, r.Err
		}
	}
	return held, nil
}

// rebuiltLately is how long before the oldest waiting entry a sale may have been rebuilt if entries that the rebuild
// queued are still waiting.
const rebuiltLately = 10 * time.Minute

// Unrecorded implements service.Holdings.
func (s *Store) Unrecorded(ctx context.Context, partition int) (order.Unrecorded, error) {
	now, err := s.TimeIn(ctx, partition) // before the oldest entry is read
	if err != nil {
		return order.Unrecorded{}, err
	}
	var (
		first *redis.XMessageSliceCmd
		dead  *redis.IntCmd
	)
	_, err = s.in(partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		first = p.XRangeN(ctx, s.keys.orders(partition), "-", "+", 1)
		dead = p.XLen(ctx, s.keys.dead(partition))
		return nil
	})
	if err != nil {
		return order.Unrecorded{}, rediskit.Translate(err)
	}
	u := order.Unrecorded{DeadLetters: dead.Val() > 0, Now: now, Since: now}
	if entries := first.Val(); len(entries) > 0 {
		// An id in the future is from before the clock was set back, so the entry's age is unknown.
		if added, known := addedAt(entries[0].ID); known && !added.After(u.Since) {
			u.Since = added
		} else {
			u.Since = time.Time{}
		}
	}
	rebuilt, err := s.in(partition).ZRangeByScore(ctx, s.keys.stops(partition), &redis.ZRangeBy{
		Min: strconv.FormatInt(u.Since.Add(-rebuiltLately).UnixMilli(), 10), Max: "+inf",
	}).Result()
	if err != nil {
		return order.Unrecorded{}, rediskit.Translate(err)
	}
	for _, text := range rebuilt {
		if id := identifier(text); id != 0 {
			u.Rebuilt = append(u.Rebuilt, id)
		}
	}
	return u, nil
}

// holdingOf reads the answer of scripts/holdings.lua for one sale.
func holdingOf(r *rediskit.Reply) (h order.Holding) {
	text := r.Text()
	h.Whole = r.Number() == 1
	h.Mark = order.Mark{Epoch: r.Number(), Sequence: r.Number()}
	if text == "" {
		return h
	}
	held := parseHeld(text)
	if held.OrderID == 0 {
		return order.Holding{}
	}
	h.OrderID, h.Quantity = held.OrderID, held.Quantity
	return h
}

// letterPage is how many dead letters UserOf looks at.
const letterPage = 1000

// UserOf implements service.Holdings. It reads the stream from its beginning, and then the dead letters.
func (s *Store) UserOf(ctx context.Context, partition int, orderID int64) (int64, error) {
	for from := "-"; ; {
		page, err := s.in(partition).XRangeN(ctx, s.keys.orders(partition), from, "+", rangePage).Result()
		if err != nil {
			return 0, fmt.Errorf("looking for order %d in the stream: %w", orderID, rediskit.Translate(err))
		}
		for _, message := range page {
			for _, entry := range appendEntry(nil, partition, message) {
				if entry.Claim.OrderID == orderID {
					return entry.Claim.UserID, nil
				}
			}
		}
		if len(page) < rangePage {
			break
		}
		from = "(" + page[len(page)-1].ID
	}
	letters, _, err := s.letters(ctx, partition, "-", letterPage)
	if err != nil {
		return 0, fmt.Errorf("looking for order %d among dead letters: %w", orderID, rediskit.Translate(err))
	}
	for _, m := range letters {
		l := letterOf(m)
		if l.Claim.OrderID == orderID {
			return l.Claim.UserID, nil
		}
		words := packedLetter(l.Fields)
		for i := 0; i < len(words); i += 2 {
			if parseHeld(words[i+1]).OrderID == orderID {
				return identifier(words[i]), nil
			}
		}
	}
	return 0, nil
}

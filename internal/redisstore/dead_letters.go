package redisstore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/recorder"
	"seckill/internal/redisstore/rediskit"
)

// The fields of a dead letter, in addition to those of the entry. scripts/dead_letter.lua writes them.
const (
	letterKey     = "key"
	letterWhy     = "why"
	letterLeftOut = "left_out"
	letterRaw     = "raw." // what the name of an entry's own field begins with
)

// letterID matches an entry's id. Redis would take other forms for ranges.
var letterID = regexp.MustCompile(`^\d{1,19}-\d{1,19}$`)

// The answers of scripts/replay.lua.
const (
	replayGone    int64 = 0
	replayDone    int64 = 1
	replayNotHeld int64 = 2
)

// maxUnpackings is how many pages of packed dead letters one listing unpacks; it lists later ones packed.
const maxUnpackings = 100

// DeadLetters implements recorder.DeadLetterStore. It first unpacks packed ones; if Redis takes no writes, it lists
// them packed.
func (s *Store) DeadLetters(
	ctx context.Context, partition int, after string, n int,
) ([]recorder.DeadLetter, int64, error) {
	from := "-"
	if after != "" {
		if !letterID.MatchString(after) {
			return nil, 0, fmt.Errorf("%w: %q", order.ErrNoDeadLetter, after)
		}
		from = "(" + after
	}
	page, total, err := s.letters(ctx, partition, from, n)
	for round := 0; err == nil && round < maxUnpackings && slices.ContainsFunc(page, isPackedLetter); round++ {
		if failed := s.unpackLetters(ctx, partition, page); failed != nil {
			s.log.WarnContext(ctx, "dead letters of several orders are listed as they are: they cannot be unpacked now",
				"error", failed)
			break
		}
		page, total, err = s.letters(ctx, partition, from, n) // read again: the next ones may be packed, too
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the dead letters: %w", rediskit.Translate(err))
	}
	letters := make([]recorder.DeadLetter, len(page))
	for i, message := range page {
		letters[i] = letterOf(message)
	}
	return letters, total, nil
}

func (s *Store) letters(ctx context.Context, partition int, from string, n int) ([]redis.XMessage, int64, error) {
	var page *redis.XMessageSliceCmd
	var total *redis.IntCmd
	_, err := s.in(partition).Pipelined(ctx, func(p redis.Pipeliner) error {
		page, total = p.XRangeN(ctx, s.keys.dead(partition), from, "+", int64(n)), p.XLen(ctx, s.keys.dead(partition))
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return page.Val(), total.Val(), nil
}

// isPackedLetter reports whether a dead letter is a packed entry with at least one readable order; others may be
// damaged.
func isPackedLetter(m redis.XMessage) bool { return packedLetter(letterOf(m).Fields) != nil }

// unpackLetters turns each order of the packed entries into its own dead letter, at the end of the list.
func (s *Store) unpackLetters(ctx context.Context, partition int, letters []redis.XMessage) error {
	for _, m := range letters {
		words := packedLetter(letterOf(m).Fields)
		if words == nil {
			continue
		}
		args := []any{m.ID}
		for _, word := range words {
			args = append(args, word)
		}
		if _, err := s.scripts.unpackLetter.RunInt(ctx, s.in(partition),
			[]string{s.keys.dead(partition)}, args...); err != nil {
			return err
		}
	}
	return nil
}

// DeadLetter implements recorder.DeadLetterStore.
func (s *Store) DeadLetter(ctx context.Context, partition int, id string) (recorder.DeadLetter, error) {
	if !letterID.MatchString(id) {
		return recorder.DeadLetter{}, fmt.Errorf("%w: %q", order.ErrNoDeadLetter, id)
	}
	messages, err := s.in(partition).XRange(ctx, s.keys.dead(partition), id, id).Result()
	switch {
	case err != nil:
		return recorder.DeadLetter{}, fmt.Errorf("reading dead letter %s: %w", id, rediskit.Translate(err))
	case len(messages) == 0:
		return recorder.DeadLetter{}, fmt.Errorf("%w: %s", order.ErrNoDeadLetter, id)
	case isPackedLetter(messages[0]):
		if err := s.unpackLetters(ctx, partition, messages); err != nil {
			return recorder.DeadLetter{}, fmt.Errorf("unpacking dead letter %s: %w", id, err)
		}
		return recorder.DeadLetter{},
			fmt.Errorf("%w: %s had several orders, each of which has a dead letter of its own now",
				order.ErrNoDeadLetter, id)
	}
	return letterOf(messages[0]), nil
}

// letterOf reads a dead letter. Unreadable fields of its entry are zero.
func letterOf(m redis.XMessage) recorder.DeadLetter {
	l := recorder.DeadLetter{ID: m.ID, Fields: make(map[string]string, len(m.Values))}
	if millis, err := strconv.ParseInt(strings.SplitN(m.ID, "-", 2)[0], 10, 64); err == nil {
		l.At = time.UnixMilli(millis).UTC()
	}
	for field, value := range m.Values {
		text := fmt.Sprint(value)
		switch name, raw := strings.CutPrefix(field, letterRaw); {
		case raw:
			l.Fields[name] = text
		case field == letterKey:
			l.Entry = text
		case field == letterWhy:
			l.Why = text
		case field == letterLeftOut:
			l.LeftOut, _ = strconv.Atoi(text) // written by our own script
		}
	}
	l.Claim.VoucherID = identifier(l.Fields[entryVoucher])
	if id, err := strconv.ParseInt(l.Fields[entryUser], 10, 64); err == nil && id > 0 {
		l.Claim.UserID = id
	}
	held := parseHeld(l.Fields[entryOrder])
	l.Claim.OrderID, l.Claim.Quantity = held.OrderID, held.Quantity
	return l
}

// Replay implements recorder.DeadLetterStore.
func (s *Store) Replay(ctx context.Context, partition int, id string, c order.Claim) (bool, error) {
	sale := order.SaleRef{VoucherID: c.VoucherID, Partition: partition}
	keys := []string{s.keys.dead(partition), s.keys.orders(partition), s.keys.buyers(sale)}
	code, err := s.scripts.replay.RunInt(ctx, s.in(partition), keys, id, &sale.VoucherID, c.UserID, c.OrderID)
	switch {
	case err != nil:
		return false, fmt.Errorf("replaying dead letter %s: %w", id, err)
	case code == replayGone:
		return false, fmt.Errorf("%w: %s", order.ErrNoDeadLetter, id)
	case code == replayDone, code == replayNotHeld:
		return code == replayDone, nil
	default:
		return false, fmt.Errorf("redis: unknown answer %d to the replay of a dead letter", code)
	}
}

// Remove implements recorder.DeadLetterStore.
func (s *Store) Remove(ctx context.Context, partition int, id string) (bool, error) {
	n, err := s.in(partition).XDel(ctx, s.keys.dead(partition), id).Result()
	if err != nil {
		return false, fmt.Errorf("removing dead letter %s: %w", id, rediskit.Translate(err))
	}
	return n == 1, nil
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
	"seckill/scripts"
)

const scanDetail = 1000 // how many fields one HSCAN reads

// Correct is a recorder.HolderCorrector. Corrections of one sale share a call. A call that fails does not stop the
// corrections of other sales. The error wraps order.ErrRejected when a retry cannot help any of the failed corrections.
//
// It returns, by sale, the epoch of the rebuild during which a unit was given back, because that rebuild may have
// counted the unit as taken. Every call for the sale returns it, even with an error, until the sale has a higher epoch.
func (s *Store) Correct(ctx context.Context, corrections []order.Correction) (rebuilding map[int64]int64, err error) {
	var failed, rejected []error
	for sale, all := range bySale(corrections) {
		for batch := range slices.Chunk(all, scripts.MaxCorrections) {
			c, err := s.correctSale(ctx, sale, batch)
			if c.rebuilding > 0 {
				if rebuilding == nil {
					rebuilding = make(map[int64]int64)
				}
				rebuilding[sale.VoucherID] = max(rebuilding[sale.VoucherID], c.rebuilding)
			}
			switch {
			case err == nil && c.outdated > 0:
				failed = append(failed, fmt.Errorf("correcting holders of voucher %d: %d of %d were %w",
					sale.VoucherID, c.outdated, len(batch), order.ErrOutdated))
			case err == nil:
			case rediskit.Rejects(err):
				rejected = append(rejected, fmt.Errorf("%w: correcting holders of voucher %d: %w",
					order.ErrRejected, sale.VoucherID, err))
			default:
				failed = append(failed, fmt.Errorf("correcting %d holders of voucher %d: %w",
					len(batch), sale.VoucherID, err))
			}
		}
	}
	if len(failed) > 0 {
		return rebuilding, errors.Join(failed...) // rejected ones are reported only when no others are left
	}
	return rebuilding, errors.Join(rejected...)
}

func bySale(corrections []order.Correction) map[order.SaleRef][]order.Correction {
	sales := make(map[order.SaleRef][]order.Correction)
	for _, c := range corrections {
		sales[c.Sale] = append(sales[c.Sale], c)
	}
	return sales
}

// The answers of scripts/correct.lua for a correction that acted, and for an outdated one.
const (
	correctionActed    int64 = 1
	correctionOutdated int64 = 2
)

// correctResult is the answer of scripts/correct.lua.
type correctResult struct {
	acted      []bool // for each correction, in order
	outdated   int    // how many were decided without operations that Redis has applied
	rebuilding int64  // epoch of the rebuild during which a unit was given back, 0 for none
}

func (s *Store) correctSale(
	ctx context.Context, sale order.SaleRef, corrections []order.Correction,
) (correctResult, error) {
	args := make([]any, 0, 1+5*len(corrections))
	args = append(args, s.returnDelay.Milliseconds())
	for _, c := range corrections {
		args = append(args, c.UserID, heldArgument(order.Held{OrderID: c.OrderID, Quantity: c.Quantity}), c.GiveBack,
			heldArgument(c.New), c.Until)
	}
	raw, err := s.scripts.correct.Run(ctx, s.in(sale.Partition),
		[]string{s.keys.sale(sale), s.keys.buyers(sale)}, args...)
	if err != nil {
		return correctResult{}, err
	}
	r := rediskit.NewReply(raw)
	c := correctResult{rebuilding: r.Number(), acted: make([]bool, len(corrections))}
	for i := range c.acted {
		switch r.Number() {
		case correctionActed:
			c.acted[i] = true
		case correctionOutdated:
			c.outdated++
		}
	}
	return c, r.Err
}

// OrdersOf is an order.HolderReader.
func (s *Store) OrdersOf(ctx context.Context, sale order.SaleRef, users []int64) ([]int64, error) {
	if len(users) == 0 {
		return nil, nil
	}
	fields := make([]string, len(users))
	for i, user := range users {
		fields[i] = strconv.FormatInt(user, 10)
	}
	held, err := s.in(sale.Partition).HMGet(ctx, s.keys.buyers(sale), fields...).Result()
	if err != nil {
		return nil, fmt.Errorf("orders of %d users: %w", len(users), rediskit.Translate(err))
	}
	ids := make([]int64, len(users))
	for i, value := range held {
		if text, has := value.(string); has {
			ids[i] = parseHeld(text).OrderID
		}
	}
	return ids, nil
}

// Holders implements recovery.SaleReader. It stops after an error that is no *order.UnreadableHolderError.
func (s *Store) Holders(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		for pair, err := range s.pairs(ctx, sale.Partition, s.keys.buyers(sale)) {
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading the holders: %w", err))
				return
			}
			if !yield(holder(sale, pair[0], pair[1])) {
				return
			}
		}
	}
}

// pairs yields the fields and values of a hash in a partition, perhaps some twice. It stops after the first error.
func (s *Store) pairs(ctx context.Context, partition int, key string) iter.Seq2[[2]string, error] {
	return func(yield func([2]string, error) bool) {
		var cursor uint64
		for {
			page, next, err := s.in(partition).HScan(ctx, key, cursor, "", scanDetail).Result()
			if err != nil {
				yield([2]string{}, rediskit.Translate(err))
				return
			}
			for i := 0; i+1 < len(page); i += 2 {
				if !yield([2]string{page[i], page[i+1]}, nil) {
					return
				}
			}
			if cursor = next; cursor == 0 {
				return
			}
		}
	}
}

func holder(sale order.SaleRef, user, text string) (order.Claim, error) {
	userID, held := identifier(user), parseHeld(text)
	if userID == 0 || held.OrderID == 0 {
		return order.Claim{}, &order.UnreadableHolderError{Field: user, Value: text}
	}
	return order.Claim{OrderID: held.OrderID, UserID: userID, VoucherID: sale.VoucherID, Quantity: held.Quantity}, nil
}

// identifier reads an id as this package writes it; 0 for anything else: "007" and "7" are different fields.
func identifier(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

// In the hash of holders, in the stream and in recovery reports, an order with its units is one text: the order's id,
// and, for more than one unit, a colon and their number, as 123:3.

// heldText returns the text of an order with its units.
func heldText(h order.Held) string {
	id := strconv.FormatInt(h.OrderID, 10)
	if h.Quantity.Extra() == 0 {
		return id
	}
	return id + ":" + h.Quantity.String()
}

// heldArgument returns heldText as an argument of a script, and a plain id as a number.
func heldArgument(h order.Held) any {
	if h.Quantity.Extra() == 0 {
		return h.OrderID
	}
	return heldText(h)
}

// parseHeld reads an order with its units as this package writes it; it returns order 0 for anything else.
func parseHeld(text string) order.Held {
	text, units, several := strings.Cut(text, ":")
	id := identifier(text)
	if !several || id == 0 {
		return order.Held{OrderID: id}
	}
	n := identifier(units)
	if n < 2 || n > voucher.MaxPerUser {
		return order.Held{}
	}
	return order.Held{OrderID: id, Quantity: order.QuantityOf(n)}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"seckill/internal/order"
)

// MaxRequests is how many requests scripts/seckill.lua takes in one call.
const MaxRequests = 256

// Admit runs scripts/seckill.lua once. An error that wraps order.ErrUnavailable says that the batch certainly had no
// effect; after any other, repeating the identical batch gives the answer. No caller learns of an order that too few
// replicas have confirmed, neither a new one nor one that the user had: that is an error of the latter kind.
func (s *Store) Admit(ctx context.Context, b order.Batch) (order.BatchResult, error) {
	args, err := admissionArgs(b)
	if err != nil {
		return order.BatchResult{}, err
	}
	keys := []string{s.keys.sale(b.Sale), s.keys.buyers(b.Sale), s.keys.orders(b.Sale.Partition)}
	raw, doubt := s.admissions.run(ctx, keys, args...)
	if doubt != nil && !errors.Is(doubt, errUnconfirmed) {
		return order.BatchResult{}, doubt
	}
	result, err := readResult(raw, b)
	if err == nil && doubt != nil && slices.ContainsFunc(result.Results, namesOrder) {
		return order.BatchResult{}, doubt
	}
	for i, r := range result.Results {
		if r.Outcome == order.Unreadable {
			s.log.ErrorContext(ctx, "a holder of a sale cannot be read", "voucher", b.Sale.VoucherID, "user", b.Requests[i].UserID)
		}
	}
	return result, err
}

// namesOrder reports whether the result says that the user has an order.
func namesOrder(r order.Result) bool {
	return r.Outcome == order.Accepted || r.Outcome == order.AlreadyBought
}

// admissionArgs is ARGV of the script. It points into the batch, which therefore must not change during the call: the
// ids are written to the socket from there, and a batch costs one allocation.
func admissionArgs(b order.Batch) ([]any, error) {
	if n := len(b.Requests); n < 1 || n > MaxRequests {
		return nil, fmt.Errorf("%w: a batch of %d requests, allowed are 1 to %d", order.ErrUnavailable, n, MaxRequests)
	}
	args := make([]any, 0, 4+2*len(b.Requests)+1)
	several := false
	args = append(args, b.Sale.VoucherID, b.Known.Epoch, b.Known.Sequence, b.MaxBacklog)
	for i := range b.Requests {
		r := &b.Requests[i]
		if r.UserID <= 0 || r.OrderID < 0 {
			return nil, fmt.Errorf("%w: a request of user %d (order %d) has no positive id", order.ErrUnavailable, r.UserID, r.OrderID)
		}
		args = append(args, &r.UserID, &r.OrderID)
		several = several || r.Quantity.Extra() > 0
	}
	if several {
		args = append(args, quantitiesOf(b.Requests))
	}
	return args, nil
}

// quantitiesOf is how many units each of the requests asks for, as the script reads it.
func quantitiesOf(requests []order.Request) string {
	text := append(make([]byte, 0, 5+3*len(requests)), "units"...)
	for _, r := range requests {
		text = strconv.AppendInt(append(text, ' '), r.Quantity.Units(), 10)
	}
	return string(text)
}

func readResult(raw any, b order.Batch) (order.BatchResult, error) {
	r := newReply(raw)
	result := order.BatchResult{View: r.view(), Results: make([]order.Result, len(b.Requests))}
	result.View.Now = r.time()
	for i := range result.Results {
		result.Results[i] = r.result()
	}
	if r.err != nil {
		return order.BatchResult{}, r.err
	}
	return result, nil
}

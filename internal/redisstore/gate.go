package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

// Admit runs scripts/seckill.lua once, together with batches of other sales that come at the same time (sharedCalls).
// An error that wraps order.ErrUnavailable says that the batch certainly had no effect; after any other, repeating the
// identical batch returns the outcome. If too few replicas have confirmed an order, new or existing, it returns an
// error of the second kind for all. While the sale's partition has other data, all requests get order.Paused.
func (s *Store) Admit(ctx context.Context, b order.Batch) (order.BatchResult, error) {
	if err := checkBatch(b); err != nil {
		return order.BatchResult{}, err
	}
	if s.formats.in(b.Sale.Partition) != nil {
		return pausedResult(b), nil
	}
	raw, doubt := s.admissions.in(b.Sale.Partition).run(ctx, b)
	if doubt != nil && !errors.Is(doubt, errUnconfirmed) {
		return order.BatchResult{}, doubt
	}
	result, err := readResult(raw, b)
	if err == nil && doubt != nil && slices.ContainsFunc(result.Results, namesOrder) {
		return order.BatchResult{}, doubt
	}
	for i, r := range result.Results {
		if r.Outcome == order.Unreadable {
			s.log.ErrorContext(ctx, "a holder of a sale cannot be read", "voucher", b.Sale.VoucherID,
				"user", b.Requests[i].UserID)
		}
	}
	return result, err
}

// namesOrder reports whether the result names an order of the user.
func namesOrder(r order.Result) bool {
	return r.Outcome == order.Accepted || r.Outcome == order.AlreadyBought
}

// checkBatch refuses a batch that the script does not accept, since the script would then refuse the batches of all
// sales in the call.
func checkBatch(b order.Batch) error {
	if n := len(b.Requests); n < 1 || n > order.MaxBatch {
		return fmt.Errorf("%w: a batch of %d requests, allowed are 1 to %d", order.ErrUnavailable, n, order.MaxBatch)
	}
	for i := range b.Requests {
		r := &b.Requests[i]
		if r.UserID <= 0 || r.OrderID < 0 {
			return fmt.Errorf("%w: a request of user %d (order %d) has no positive id",
				order.ErrUnavailable, r.UserID, r.OrderID)
		}
		if n := r.Quantity.Units(); n < 1 || n > voucher.MaxPerUser {
			return fmt.Errorf("%w: a request for %d units, allowed are 1 to %d",
				order.ErrUnavailable, n, voucher.MaxPerUser)
		}
	}
	return nil
}

// quantitiesOf returns how many units each request asks for, in the script's form: "" if each asks for one.
func quantitiesOf(requests []order.Request) string {
	if !slices.ContainsFunc(requests, func(r order.Request) bool { return r.Quantity.Extra() > 0 }) {
		return ""
	}
	var text []byte
	for _, r := range requests {
		text = append(strconv.AppendInt(text, r.Quantity.Units(), 10), ' ')
	}
	return string(text)
}

func readResult(raw any, b order.Batch) (order.BatchResult, error) {
	r := rediskit.NewReply(raw)
	result := order.BatchResult{View: viewOf(r), Results: make([]order.Result, len(b.Requests))}
	result.View.Now = r.Time()
	for i := range result.Results {
		result.Results[i] = resultOf(r)
	}
	if r.Err != nil {
		return order.BatchResult{}, r.Err
	}
	return result, nil
}

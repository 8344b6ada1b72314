package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"seckill/internal/kit/batch"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

// Admit runs scripts/seckill.lua once, together with batches of other sales that come at the same time (sharedCalls).
// An error that wraps order.ErrUnavailable says that the batch certainly had no effect; after any other, repeating the
// identical batch returns the outcome. If too few replicas have confirmed an order, new or existing, it returns an
// error of the second kind for all. While the sale's partition has other data, all requests get gate.Paused.
func (s *Store) Admit(ctx context.Context, b gate.Batch) (gate.BatchResult, error) {
	if err := checkBatch(b); err != nil {
		return gate.BatchResult{}, err
	}
	if s.formats.in(b.Sale.Partition) != nil {
		return pausedResult(b), nil
	}
	answer, err := s.callsIn(b.Sale.Partition).sends.Do(ctx, b)
	switch {
	case errors.Is(err, batch.ErrNotSent):
		return gate.BatchResult{}, fmt.Errorf("redis: %w: %w", order.ErrUnavailable, err)
	case err != nil:
		return gate.BatchResult{}, fmt.Errorf("redis: %w", err)
	case answer.err != nil:
		return gate.BatchResult{}, answer.err
	}
	result := answer.result
	for i, r := range result.Results {
		if r.Outcome == gate.Unreadable {
			s.log.ErrorContext(ctx, "a holder of a sale cannot be read", "voucher", b.Sale.VoucherID,
				"user", b.Requests[i].UserID)
		}
	}
	return result, nil
}

// namesOrder reports whether the result names an order of the user.
func namesOrder(r gate.Result) bool {
	return r.Outcome == gate.Accepted || r.Outcome == gate.AlreadyBought
}

// checkBatch refuses a batch that the script does not accept, since the script would then refuse the batches of all
// sales in the call.
func checkBatch(b gate.Batch) error {
	if n := len(b.Requests); n < 1 || n > gate.MaxBatch {
		return fmt.Errorf("%w: a batch of %d requests, allowed are 1 to %d", order.ErrUnavailable, n, gate.MaxBatch)
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
func quantitiesOf(requests []gate.Request) string {
	if !slices.ContainsFunc(requests, func(r gate.Request) bool { return r.Quantity.Extra() > 0 }) {
		return ""
	}
	var text []byte
	for _, r := range requests {
		text = append(strconv.AppendInt(text, r.Quantity.Units(), 10), ' ')
	}
	return string(text)
}

// readResult reads the script's answer about a batch: an array, or the text of an error. doubt, unless it is nil, wraps
// errUnconfirmed; it takes the place of an answer that names an order.
func readResult(raw any, b gate.Batch, doubt error) (gate.BatchResult, error) {
	if refusal, is := raw.(string); is {
		return gate.BatchResult{}, rediskit.Translate(refusedWriteError(refusal))
	}
	r := rediskit.NewReply(raw)
	result := gate.BatchResult{View: viewOf(r), Results: make([]gate.Result, len(b.Requests))}
	result.View.Now = r.Time()
	for i := range result.Results {
		result.Results[i] = resultOf(r)
	}
	switch {
	case r.Err != nil:
		return gate.BatchResult{}, r.Err
	case doubt != nil && slices.ContainsFunc(result.Results, namesOrder):
		return gate.BatchResult{}, doubt
	}
	return result, nil
}

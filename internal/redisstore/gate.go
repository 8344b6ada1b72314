package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/internal/order"
)

// MaxApplicants is how many applicants scripts/seckill.lua takes in one call.
const MaxApplicants = 256

// Admit runs scripts/seckill.lua once. An error that wraps order.ErrUnavailable says that the batch certainly had no
// effect; after any other, repeating the identical batch tells. Nobody is told of an order that too few replicas have
// confirmed, neither of a new one nor of one that he had: that is an error of the latter kind.
func (s *Store) Admit(ctx context.Context, b order.Batch) (order.Verdict, error) {
	args, err := admissionArgs(b)
	if err != nil {
		return order.Verdict{}, err
	}
	keys := []string{s.keys.sale(b.Sale), s.keys.buyers(b.Sale), s.keys.orders(b.Sale.Partition)}
	raw, doubt := s.admissions.run(ctx, keys, args...)
	if doubt != nil && !errors.Is(doubt, errUnconfirmed) {
		return order.Verdict{}, doubt
	}
	verdict, err := readVerdict(raw, b)
	if err == nil && doubt != nil && slices.ContainsFunc(verdict.Outcomes, namesOrder) {
		return order.Verdict{}, doubt
	}
	for i, outcome := range verdict.Outcomes {
		if outcome.Code == order.Unreadable {
			s.log.ErrorContext(ctx, "a place in a sale cannot be read", "voucher", b.Sale.VoucherID, "user", b.Applicants[i].UserID)
		}
	}
	return verdict, err
}

// namesOrder reports whether the outcome tells somebody that he has an order.
func namesOrder(o order.Outcome) bool {
	return o.Code == order.Accepted || o.Code == order.AlreadyBought
}

// admissionArgs is ARGV of the script. It points into the batch, which therefore must not change during the call: the
// ids are written to the socket from where they stand, and a batch costs one allocation.
func admissionArgs(b order.Batch) ([]any, error) {
	if n := len(b.Applicants); n < 1 || n > MaxApplicants {
		return nil, fmt.Errorf("%w: a batch of %d applicants, allowed are 1 to %d", order.ErrUnavailable, n, MaxApplicants)
	}
	args := make([]any, 0, 4+2*len(b.Applicants))
	args = append(args, b.Sale.VoucherID, b.Known.Epoch, b.Known.Sequence, b.MaxBacklog)
	for i := range b.Applicants {
		a := &b.Applicants[i]
		if a.UserID <= 0 || a.OrderID <= 0 {
			return nil, fmt.Errorf("%w: applicant %d (order %d) has no positive id", order.ErrUnavailable, a.UserID, a.OrderID)
		}
		args = append(args, &a.UserID, &a.OrderID)
	}
	return args, nil
}

func readVerdict(raw any, b order.Batch) (order.Verdict, error) {
	r := newReply(raw)
	v := order.Verdict{View: r.view(), Outcomes: make([]order.Outcome, len(b.Applicants))}
	v.View.Now = r.time()
	for i := range v.Outcomes {
		v.Outcomes[i] = r.outcome()
	}
	if r.err != nil {
		return order.Verdict{}, r.err
	}
	return v, nil
}

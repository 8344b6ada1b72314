package redisstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order"
)

const (
	// keepStops is how long a stop is told of: to witnesses that come late as well, as they may have stood still.
	keepStops = 10 * time.Minute
	// witnessAlive is for how long after it attended a witness counts as living. It attends several times a second.
	witnessAlive = 2 * time.Second
)

// Attend implements order.Hearings.
func (s *Store) Attend(ctx context.Context, partition int, witness string) ([]order.Hearing, error) {
	raw, err := s.scripts.attend.run(ctx, s.commands, []string{s.keys.witnesses(partition), s.keys.stops(partition)},
		witness, keepStops.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("attending: %w", err)
	}
	r := newReply(raw)
	hearings := make([]order.Hearing, len(r.elements)/2)
	for i := range hearings {
		hearings[i] = order.Hearing{Sale: order.SaleRef{VoucherID: r.number(), Partition: partition}, Stopped: r.number()}
	}
	return hearings, r.err
}

// Testify implements order.Hearings: a thousand claims at a time. The witness counts as heard with the last of them.
func (s *Store) Testify(ctx context.Context, h order.Hearing, witness string, t order.Testimony) (heard bool, epoch int64, err error) {
	keys := []string{s.keys.sale(h.Sale), s.keys.testified(h.Sale), s.keys.heard(h.Sale)}
	claims := t.Claims
	for {
		n := min(len(claims), maxSeats)
		args := make([]any, 0, 4+4*n)
		args = append(args, h.Stopped, "", t.Seen.Epoch, t.Seen.Sequence)
		if n == len(claims) {
			args[1] = witness
		}
		for _, c := range claims[:n] {
			args = append(args, c.OrderID, c.UserID, c.Epoch, c.Sequence)
		}
		raw, err := s.scripts.testify.run(ctx, s.commands, keys, args...)
		if err != nil {
			return false, 0, fmt.Errorf("handing in %d orders of voucher %d: %w", len(claims), h.Sale.VoucherID, err)
		}
		r := newReply(raw)
		heard, epoch = r.number() == 1, r.number()
		if claims = claims[n:]; r.err != nil || !heard || len(claims) == 0 {
			return heard, epoch, r.err
		}
	}
}

// Heard implements order.TestimonyReader.
func (s *Store) Heard(ctx context.Context, sale order.SaleRef, epoch int64) (order.HearingState, error) {
	raw, err := s.scripts.hearing.run(ctx, s.commands, []string{s.keys.sale(sale), s.keys.witnesses(sale.Partition), s.keys.heard(sale)},
		epoch, witnessAlive.Milliseconds())
	if err != nil {
		return order.HearingState{}, err
	}
	r := newReply(raw)
	if err := stepDone(r.number(), r.err); err != nil {
		return order.HearingState{}, err
	}
	state := order.HearingState{
		Since: time.Duration(r.number()) * time.Millisecond, Seen: order.Mark{Epoch: r.number(), Sequence: r.number()},
	}
	for r.err == nil && r.at < len(r.elements) {
		state.Absent = append(state.Absent, r.text())
	}
	return state, r.err
}

// Testified implements order.TestimonyReader. What cannot be read is left out and logged. It stops after the first error.
func (s *Store) Testified(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		for pair, err := range s.pairs(ctx, s.keys.testified(sale)) {
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading what was handed in: %w", err))
				return
			}
			claim, err := testified(sale, pair[0], pair[1])
			if err != nil {
				s.log.ErrorContext(ctx, "an order that was handed in cannot be read", "voucher", sale.VoucherID, "error", err)
				continue
			}
			if !yield(claim, nil) {
				return
			}
		}
	}
}

func testified(sale order.SaleRef, id, text string) (order.Claim, error) {
	words := append([]string{id}, strings.Fields(text)...)
	if len(words) != 4 {
		return order.Claim{}, fmt.Errorf("order %s is handed in as %q", id, text)
	}
	var n [4]int64
	for i, word := range words {
		var err error
		if n[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return order.Claim{}, fmt.Errorf("order %s is handed in as %q: %w", id, text, err)
		}
	}
	return order.Claim{OrderID: n[0], UserID: n[1], VoucherID: sale.VoucherID, Epoch: n[2], Sequence: n[3]}, nil
}

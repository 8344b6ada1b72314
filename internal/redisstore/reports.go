package redisstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/recovery"
)

const (
	// stopsKept is how long a stop is returned: also to reporters that come late, because their instance stood still.
	stopsKept = 10 * time.Minute
	// reporterAlive is for how long after its heartbeat a reporter counts as living. It sends several a second.
	reporterAlive = 2 * time.Second
)

// Heartbeat implements recovery.ReportStore.
func (s *Store) Heartbeat(ctx context.Context, partition int, reporter string) ([]recovery.Round, error) {
	raw, err := s.scripts.reportHeartbeat.run(ctx, s.commands, []string{s.keys.reporters(partition), s.keys.stops(partition)},
		reporter, stopsKept.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("heartbeat of a reporter: %w", err)
	}
	r := newReply(raw)
	rounds := make([]recovery.Round, len(r.elements)/2)
	for i := range rounds {
		rounds[i] = recovery.Round{Sale: order.SaleRef{VoucherID: r.number(), Partition: partition}, Stopped: r.number()}
	}
	return rounds, r.err
}

// SubmitReport implements recovery.ReportStore: a thousand claims at a time. The reporter is done with the last of them.
func (s *Store) SubmitReport(
	ctx context.Context, round recovery.Round, reporter string, report recovery.Report,
) (inTime bool, epoch int64, err error) {
	keys := []string{s.keys.sale(round.Sale), s.keys.reports(round.Sale), s.keys.doneReporters(round.Sale)}
	claims := report.Claims
	for {
		n := min(len(claims), maxHolders)
		args := make([]any, 0, 4+4*n)
		args = append(args, round.Stopped, "", report.Seen.Epoch, report.Seen.Sequence)
		if n == len(claims) {
			args[1] = reporter
		}
		for _, c := range claims[:n] {
			args = append(args, c.OrderID, c.UserID, c.Epoch, c.Sequence)
		}
		raw, err := s.scripts.report.run(ctx, s.commands, keys, args...)
		if err != nil {
			return false, 0, fmt.Errorf("reporting %d orders of voucher %d: %w", len(claims), round.Sale.VoucherID, err)
		}
		r := newReply(raw)
		inTime, epoch = r.number() == 1, r.number()
		if claims = claims[n:]; r.err != nil || !inTime || len(claims) == 0 {
			return inTime, epoch, r.err
		}
	}
}

// RoundProgress implements recovery.ReportReader.
func (s *Store) RoundProgress(ctx context.Context, sale order.SaleRef, epoch int64) (order.RoundProgress, error) {
	raw, err := s.scripts.roundProgress.run(ctx, s.commands, []string{s.keys.sale(sale), s.keys.reporters(sale.Partition), s.keys.doneReporters(sale)},
		epoch, reporterAlive.Milliseconds())
	if err != nil {
		return order.RoundProgress{}, err
	}
	r := newReply(raw)
	if err := stepDone(r.number(), r.err); err != nil {
		return order.RoundProgress{}, err
	}
	progress := order.RoundProgress{
		Since: time.Duration(r.number()) * time.Millisecond, Seen: order.Mark{Epoch: r.number(), Sequence: r.number()},
	}
	for r.err == nil && r.at < len(r.elements) {
		progress.Missing = append(progress.Missing, r.text())
	}
	return progress, r.err
}

// Reported implements recovery.ReportReader. What cannot be read is left out and logged. It stops after the first error.
func (s *Store) Reported(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		for pair, err := range s.pairs(ctx, s.keys.reports(sale)) {
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading the recovery reports: %w", err))
				return
			}
			claim, err := reportedClaim(sale, pair[0], pair[1])
			if err != nil {
				s.log.ErrorContext(ctx, "an order in a recovery report cannot be read", "voucher", sale.VoucherID, "error", err)
				continue
			}
			if !yield(claim, nil) {
				return
			}
		}
	}
}

func reportedClaim(sale order.SaleRef, id, text string) (order.Claim, error) {
	words := append([]string{id}, strings.Fields(text)...)
	if len(words) != 4 {
		return order.Claim{}, fmt.Errorf("order %s is reported as %q", id, text)
	}
	var n [4]int64
	for i, word := range words {
		var err error
		if n[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return order.Claim{}, fmt.Errorf("order %s is reported as %q: %w", id, text, err)
		}
	}
	return order.Claim{OrderID: n[0], UserID: n[1], VoucherID: sale.VoucherID, Epoch: n[2], Sequence: n[3]}, nil
}

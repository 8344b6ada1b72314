package box

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"seckill/internal/checker"
)

// Evidence reads what record, ledger and Redis say about a sale.
func (s *Site) Evidence(ctx context.Context, b *Buyers, issued int64) (checker.Evidence, error) {
	e := checker.Evidence{
		Voucher: b.Voucher, Issued: issued, PerUser: b.Units, Answers: slices.Values(b.Record.Answers()),
	}
	rows, err := s.Ledger.Orders(ctx, b.Voucher)
	if err != nil {
		return e, err
	}
	e.Views = []checker.View{{Name: "the ledger", Orders: rows, Complete: true}}
	stock, ledgerIssued, err := s.Ledger.Sale(ctx, b.Voucher)
	if err != nil {
		return e, err
	}
	if ledgerIssued != issued {
		return e, fmt.Errorf("the ledger says that %d units were issued, not %d", ledgerIssued, issued)
	}
	if e.Kept, err = s.Ledger.Kept(ctx, b.Voucher); err != nil {
		return e, err
	}
	shown, err := s.voucherAnywhere(ctx, b.Voucher)
	if err != nil {
		return e, err
	}
	e.LedgerStock, e.ShownStock = &stock, shown.Stock
	if s.Redis != nil {
		partition, err := s.Ledger.Partition(ctx, b.Voucher)
		if err != nil {
			return e, err
		}
		v, err := s.Redis.In(partition).Sale(ctx, b.Voucher)
		if err != nil {
			return e, err
		}
		e.Redis = &v
	}
	return e, nil
}

// Check waits until nothing of the sale is under way and record, ledger and Redis agree. After [Patience] it fails the
// test with the remaining contradictions.
func (s *Site) Check(tb testing.TB, b *Buyers, issued int64) checker.Evidence {
	tb.Helper()
	var e checker.Evidence
	Eventually(tb, "the agreement of record, ledger and Redis", func() error {
		var err error
		if e, err = s.Evidence(tb.Context(), b, issued); err != nil {
			return err
		}
		if err = Contradictions(checker.Check(e)); err != nil {
			return fmt.Errorf("answers %v: %w", b.Record.Counts(), err)
		}
		return nil
	})
	return e
}

// Contradictions returns the findings of a report as one error, with the first few of each invariant in full.
func Contradictions(r checker.Report) error {
	const shown = 3
	if r.Total == 0 {
		return nil
	}
	var text strings.Builder
	of := map[checker.Invariant]int{}
	for _, f := range r.Findings {
		if of[f.Invariant]++; of[f.Invariant] > shown {
			continue
		}
		fmt.Fprintf(&text, "\n  %s", f)
		for _, line := range f.History {
			fmt.Fprintf(&text, "\n      %s", line)
		}
	}
	return fmt.Errorf("%d contradictions, the first of each kind:%s", r.Total, text.String())
}

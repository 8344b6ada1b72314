package test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"seckill/internal/checker"
)

// evidence is everything that is known of one sale at a quiescent point, from three witnesses: the clients' record,
// the ledger, and Redis.
type evidence struct{ checker.Evidence }

// gather reads the evidence of a sale.
func (s *site) gather(ctx context.Context, c *crowd, issued int64) (evidence, error) {
	e := evidence{checker.Evidence{
		Voucher: c.voucher, Issued: issued, Answers: slices.Values(c.record.evidence(c.voucher)),
	}}
	rows, err := s.ledger.orders(ctx, c.voucher)
	if err != nil {
		return e, err
	}
	e.Views = []checker.View{{Name: "the ledger", Orders: rows, Complete: true}}
	stock, ledgerIssued, err := s.ledger.sale(ctx, c.voucher)
	if err != nil {
		return e, err
	}
	if ledgerIssued != issued {
		return e, fmt.Errorf("the ledger says that %d units were issued, not %d", ledgerIssued, issued)
	}
	shown, err := s.shown(ctx, c.voucher)
	if err != nil {
		return e, err
	}
	e.LedgerStock, e.ShownStock = &stock, shown.Stock
	if s.live != nil {
		v, err := s.live.view(ctx, c.voucher)
		if err != nil {
			return e, err
		}
		e.Redis = &checker.Redis{Stock: v.stock, Waiting: v.waiting, Dead: v.dead, Places: v.buyers}
	}
	return e, nil
}

// check waits until nothing of the sale is under way any more and every witness agrees, and fails the test with all
// that they still contradict each other in when patience runs out.
func (s *site) check(tb testing.TB, c *crowd, issued int64) evidence {
	tb.Helper()
	var e evidence
	eventually(tb, "the agreement of record, ledger and Redis", func() error {
		var err error
		if e, err = s.gather(tb.Context(), c, issued); err != nil {
			return err
		}
		if err = contradictions(checker.Check(e.Evidence)); err != nil {
			return fmt.Errorf("answers %v: %w", c.record.tally(), err)
		}
		return nil
	})
	return e
}

// liveRows returns how many units the ledger's orders hold.
func (e evidence) liveRows() int64 { return e.Live() }

// contradictions returns the findings of a report as one error, the first few of each invariant in full.
func contradictions(r checker.Report) error {
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

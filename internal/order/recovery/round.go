package recovery

import (
	"context"
	"iter"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// ReportReader reads the recovery reports about a stopped sale.
type ReportReader interface {
	// RoundProgress returns how far the recovery round has got. It returns ErrSuperseded when SaleBuilder's steps do.
	RoundProgress(ctx context.Context, sale order.SaleRef, epoch int64) (order.RoundProgress, error)
	// Reported yields the claims of the reports since the sale was stopped, some of them twice.
	Reported(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error]
}

const (
	// minRoundTime is the least duration of a recovery round. A live reporter sends several heartbeats in that time,
	// even if Redis was emptied, and every sold-out cache of the sale expires (rule 11).
	minRoundTime = order.ReturnDelay
	// maxRoundTime is how long a rebuild waits for live reporters without a report. They check afterwards whether the
	// rebuild missed anything (Reporter).
	maxRoundTime = 5 * time.Second
	roundPoll    = 50 * time.Millisecond // between two checks of the progress
	listedOrders = 20                    // orders named in one log line
)

// awaitReports waits until every live instance has handed in its report about the stopped sale, maxRoundTime at most,
// and returns the highest mark in the reports.
func (r *Reconciler) awaitReports(ctx context.Context, sale order.SaleRef, epoch int64) (order.Mark, error) {
	if r.stores.Reports == nil {
		return order.Mark{}, nil
	}
	began := time.Now() // in case Redis's clock is set back
	for {
		state, err := r.stores.Reports.RoundProgress(ctx, sale, epoch)
		if err != nil {
			return order.Mark{}, err
		}
		waited := max(state.Since, time.Since(began))
		switch {
		case waited >= minRoundTime && len(state.Missing) == 0:
			return state.Seen, nil
		case waited >= maxRoundTime:
			r.log.WarnContext(ctx, "rebuilding a sale without the reports of some live instances",
				"voucher", sale.VoucherID, "epoch", epoch, "instances", state.Missing)
			return state.Seen, nil
		}
		retry.Sleep(ctx, roundPoll)
		if err := ctx.Err(); err != nil {
			return order.Mark{}, err
		}
	}
}

// logLostTail says that the ledger has lost operations that Redis had applied, and what the rebuild makes of it.
func (r *Reconciler) logLostTail(ctx context.Context, v voucher.Voucher, view order.SaleView, raised order.Raised) {
	if !raised.Lost {
		return
	}
	fields := []any{
		"voucher", v.ID, "applied", view.Applied, "last", v.Sale.LastOperation, "mode", view.Mode.Word(),
		"decision", view.Decided.Kind,
	}
	if !raised.Decision {
		r.log.WarnContext(ctx, "the ledger has lost operations that Redis had applied, and no decision of a person; "+
			"the sale is rebuilt from the ledger", fields...)
		return
	}
	r.log.ErrorContext(ctx, "the ledger has lost a decision of a person that Redis had applied; the sale stays paused "+
		"until somebody decides anew", append(fields, "paused", raised.Paused)...)
}

// logLosses logs the losses of a rebuilt sale in Redis: the orders that reports brought back, and the number of
// admissions whose orders are unknown.
func (r *Reconciler) logLosses(ctx context.Context, sale order.SaleRef, in *rebuildInput, plan rebuildPlan) {
	if n := len(in.unreadable); n > 0 {
		r.log.ErrorContext(ctx, "holders could not be read and were removed; somebody writes into Redis",
			"voucher", sale.VoucherID, "count", n, "holders", in.unreadable[:min(n, listedOrders)])
	}
	if n := len(plan.foreign); n > 0 {
		r.log.ErrorContext(ctx, "Redis had orders of another voucher with this id, which the ledger has lost; "+
			"it must have been restored from a backup", "voucher", sale.VoucherID, "count", n,
			"orders", orderIDs(plan.foreign))
	}
	unaccounted, doubtful := in.unaccounted()
	r.observer.Recovered(len(plan.requeue), unaccounted)
	if n := len(plan.lost); n > 0 {
		r.log.WarnContext(ctx, "Redis had lost accepted orders that instances remember; requeued",
			"voucher", sale.VoucherID, "count", n, "orders", orderIDs(plan.lost))
	}
	if unaccounted > 0 {
		r.log.ErrorContext(ctx, "Redis lost accepted orders that no instance remembers",
			"voucher", sale.VoucherID, "count", unaccounted, "seen", in.highest(), "reached", in.reached)
	}
	if doubtful > 0 {
		r.log.WarnContext(ctx, "Redis lost admissions of void operations, or accepted orders that no instance "+
			"remembers", "voucher", sale.VoucherID, "count", doubtful, "seen", in.highest(), "reached", in.reached)
	}
}

// orderIDs returns the ids of some of the orders, for a log line.
func orderIDs(claims []order.Claim) []int64 {
	ids := make([]int64, min(len(claims), listedOrders))
	for i := range ids {
		ids[i] = claims[i].OrderID
	}
	return ids
}

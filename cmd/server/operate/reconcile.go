package operate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/sqlstore"
	"seckill/internal/voucher"
)

const reconcileHelp = `server reconcile holds Redis and the SQL database against each other, for every sale that
Redis must hold, or for one of them, and says whether all units are accounted for. It works beside
running instances, even while a sale runs; they make the same comparison every few seconds.

  server reconcile
  server reconcile -voucher 7
  server reconcile -voucher 7 -repair
  server reconcile -orders

What it may find in a sale:

  balanced       every unit issued is left, waiting, or held by a live order
  undecided      the sale is being rebuilt, or changes too fast to be compared: try again
  redis_wrong    Redis and the database differ
  orders_lost    accepted orders are neither in the stream nor in the database
  ledger_short   the database lacks units: stock + live orders is less than issued
  ledger_excess  the database has units that were never issued; the instances pause the sale

-repair rebuilds, from the database, the sales that are redis_wrong or orders_lost twice in a row, and
queues lost orders again. It never changes the database. If the database itself is wrong, find out
where: stock or issued in the sale's row of tb_seckill_voucher, or missing rows of tb_voucher_order.
Correct it, run server reconcile -repair, and resume the sale if it was paused.

A sale that was purged is added up from what is left of it and its figures.

Without -voucher it also names the sales that Redis has and the database does not: one of the two was
restored from a backup (docs/runbook.md, "A restored store"). -orders names the orders that only Redis
has, one a line, and what becomes of each; and the decisions that the database has lost, with what each
of the two had.

Exit code: 0 when all sales are balanced, 3 when one is not, 1 when they could not be checked.`

// confirmAfter is how long reconcile waits before it checks an unbalanced sale again.
const confirmAfter = time.Second

// Reconcile runs the command reconcile.
func Reconcile(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("reconcile", flag.ContinueOnError)
	id := set.Int64("voucher", 0, "check only the voucher with this `id`")
	repair := set.Bool("repair", false, "rebuild sales that are proved to be wrong in Redis")
	named := set.Bool("orders", false, "name the orders that only Redis has")
	if err := cmdline.Parse(env.Env, set, reconcileHelp); err != nil {
		return err
	}
	if *id < 0 || *id > voucher.MaxID || *id == 0 && cmdline.Given(set, "voucher") {
		return cmdline.Misuse(set, fmt.Sprintf("-voucher is %d (allowed: 1 to %d)", *id, voucher.MaxID))
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		return reconcile(ctx, w, env.Out, *id, *repair, *named)
	})
}

// reconcile checks one voucher's sale, or all sales for id 0, prints its findings, and returns cmdline.ErrFound if a
// sale is not balanced.
func reconcile(ctx context.Context, w *wiring.Tool, out io.Writer, id int64, repair, named bool) error {
	balances, err := balances(ctx, w, id)
	if errors.Is(err, voucher.ErrNotSeckill) {
		return reconcilePurged(ctx, w.Stores.Ledger, out, id)
	}
	if err != nil {
		return err
	}
	var restored []remains
	if id == 0 {
		if restored, err = remaining(ctx, w); err != nil {
			return err
		}
	}
	if named { // before a repair, which records these orders
		for _, b := range balances {
			if err := printUntraced(ctx, w, out, b.VoucherID); err != nil {
				return err
			}
		}
		if err := printLost(ctx, w, out, id); err != nil {
			return err
		}
	}
	repaired, err := confirm(ctx, w, balances, repair)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(balancesText(balances, repaired))
	for _, r := range restored {
		text.WriteString(r.text(named))
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if len(restored) > 0 || slices.ContainsFunc(balances, func(b audit.Balance) bool {
		return b.Finding != audit.Balanced
	}) {
		return cmdline.ErrFound
	}
	return nil
}

// balances returns the balance of one voucher's sale, or for id 0 the balances of all sales.
func balances(ctx context.Context, w *wiring.Tool, id int64) ([]audit.Balance, error) {
	if id == 0 {
		return w.Auditor.All(ctx)
	}
	b, err := w.Auditor.Balance(ctx, id)
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return nil, fmt.Errorf("there is no voucher %d", id)
	case errors.Is(err, voucher.ErrNotSeckill):
		return nil, err
	}
	return []audit.Balance{b}, err
}

// reconcilePurged adds up the units of a sale that Redis need not hold, if its orders were purged: what is left and the
// figures of what is gone. It returns cmdline.ErrFound if they do not add up.
func reconcilePurged(ctx context.Context, ledger *sqlstore.Store, out io.Writer, id int64) error {
	p, err := ledger.Sales.Purged(ctx, id)
	switch {
	case errors.Is(err, voucher.ErrNotSeckill):
		return fmt.Errorf(
			"voucher %d has no sale that Redis must hold: it is an ordinary one, or its sale is over for good", id)
	case err != nil:
		return err
	}
	finding := audit.Balanced
	if p.Difference() != 0 {
		finding = audit.LedgerExcess
		if p.Difference() < 0 {
			finding = audit.LedgerShort
		}
	}
	_, err = fmt.Fprintf(out, "voucher %d: %s. Its sale is over; since %s %d orders were purged.\n"+
		"%d units left + %d kept + %d of live orders + %d of live orders that are gone = %d issued %+d\n", id, finding,
		p.At.UTC().Format(time.DateOnly), p.Orders, p.Stock, p.Kept, p.Live, p.Gone, p.Issued, p.Difference())
	if err == nil && finding != audit.Balanced {
		err = cmdline.ErrFound
	}
	return err
}

// confirm checks sales that are not balanced again. With repair, it rebuilds those that are wrong both times, and
// returns a text about each. It replaces their balances in all by the latest ones.
func confirm(ctx context.Context, w *wiring.Tool, all []audit.Balance, repair bool) (repaired []string, err error) {
	for i, b := range all {
		if b.Finding == audit.Balanced {
			continue
		}
		if all[i], err = again(ctx, w, b.VoucherID); err != nil {
			return nil, err
		}
		if !repair || !b.Repairable() || !all[i].Repairable() {
			continue
		}
		if err := requestRepair(ctx, w, b.VoucherID, all[i].Redis.Mark.Epoch); err != nil {
			return nil, err
		}
		repaired = append(repaired, fmt.Sprintf("the sale of voucher %d was rebuilt; it was %s: %s",
			b.VoucherID, all[i].Finding, all[i].Why))
		if all[i], err = again(ctx, w, b.VoucherID); err != nil {
			return nil, err
		}
	}
	return repaired, nil
}

// again checks a sale a second time, a moment later: a sale counts as wrong only after two such checks in a row.
func again(ctx context.Context, w *wiring.Tool, sale int64) (audit.Balance, error) {
	select {
	case <-time.After(confirmAfter):
	case <-ctx.Done():
		return audit.Balance{}, ctx.Err()
	}
	return w.Auditor.Check(ctx, sale)
}

// requestRepair rebuilds the sale if Redis and the ledger disagree about it, or if its epoch is not above badEpoch.
func requestRepair(ctx context.Context, w *wiring.Tool, sale int64, badEpoch int64) error {
	if badEpoch > order.NoBadEpoch {
		w.Repairs.RequestRepair(sale, badEpoch)
	}
	if err := w.Reconciler.Open(ctx, sale); err != nil {
		return fmt.Errorf("rebuilding the sale of voucher %d: %w", sale, err)
	}
	return nil
}

func balancesText(balances []audit.Balance, repaired []string) string {
	if len(balances) == 0 {
		return "there is no sale that Redis must hold\n"
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table,
		"VOUCHER\tFINDING\tISSUED\tLEFT IN SQL\tLIVE\tLEFT IN REDIS\tHELD\tWAITING\tDIFFERENCE IN SQL\tIN REDIS\tLOST")
	for _, b := range balances {
		waiting := "many"
		if b.Redis.Waiting != audit.NotCounted {
			waiting = fmt.Sprint(b.Redis.Waiting)
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%+d\t%+d\t%d\n", b.VoucherID, b.Finding,
			b.Ledger.Issued, b.Ledger.Stock,
			b.Ledger.LiveUnits(), b.Redis.Stock, b.Redis.Held(), waiting, b.LedgerDifference, b.RedisDifference, b.Lost)
	}
	_ = table.Flush() // a builder takes everything
	for _, line := range repaired {
		text.WriteString(line + "\n")
	}
	for _, b := range balances {
		if b.Why != "" {
			fmt.Fprintf(&text, "voucher %d: %s\n", b.VoucherID, b.Why)
		}
	}
	return text.String()
}

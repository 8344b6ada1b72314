package retention

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

const purgeHelp = `server purge deletes the orders of sales that ended before a date, and orders of ordinary vouchers
that are older, with their histories, payments, coupons, events and places on waiting lists. There is
no way back but a backup. It works beside running instances, also while they sell: some thousand
orders a second, in small transactions that give way.

  server purge -before 2026-01-01 -dry-run               say what would go, and what would not, and why
  server purge -before 2026-01-01 -why 'kept two years'

Vouchers and sales stay, with one line of figures for each: reports, sums and reconcile go on telling
what was sold. Lists, files and GET /order/:id no longer know the orders, and payment providers that
call about one are answered 404.

A sale is refused while it is not retired or anything of it is owed:

  not_retired  the sale is still in Redis: it is retired a day after its end
  undecided    an order is unpaid or being refunded
  coupon       a coupon can still be redeemed; reserved: a till has reserved it
  payment      money is under way, late, being sent back, or stuck
  dispute      a dispute is open
  refund       a refund is asked for, pending, or has failed and nobody has seen to it
  event        an enabled webhook endpoint has not taken an event yet
  place        a place on the waiting list is open
  limit        an ordinary voucher limits what a user may have, so its orders are counted: archive it

It may be interrupted at any point, and run again or twice at once: it goes on. An order that comes to
owe something meanwhile stays, and is named. While an instance of version 1.0 is alive, it is refused;
from the first purge on, 1.0 does not start any more. SECKILL_KEEP makes the instances do the same by
themselves.

Exit code: 0 when nothing is left, 3 when something stays, 1 when it failed.`

// purge runs the command purge.
func purge(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("purge", flag.ContinueOnError)
	date := set.String("before", "", "the `date` before which a sale ended, or an order was made: 2026-01-01")
	dry := set.Bool("dry-run", false, "change nothing, and say what would be done")
	trail := cmdline.TrailFlags(env, set)
	if err := cmdline.Parse(env, set, purgeHelp); err != nil {
		return err
	}
	if *date == "" {
		return cmdline.Misuse(set, "-before is missing (allowed: a date such as 2026-01-01)")
	}
	if _, err := time.Parse(time.DateOnly, *date); err != nil {
		return cmdline.Misuse(set, fmt.Sprintf("-before is %q (allowed: a date such as 2026-01-01)", *date))
	}
	if !*dry {
		if err := trail.Check(set); err != nil {
			return err
		}
	}
	return withCore(ctx, env, open, func(core feature.Core) error {
		before, err := time.ParseInLocation(time.DateOnly, *date, core.Settings.Server.Location)
		if err != nil {
			return err
		}
		ledger := NewLedger(core.DB, core.Orders)
		now, err := core.DB.LedgerTime(core.DB.Read(ctx))
		if err != nil {
			return err
		}
		if before.After(now) {
			return cmdline.Misuse(set, fmt.Sprintf("-before is %s, which is to come", *date))
		}
		if *dry {
			return preview(ctx, env.Out, &Purger{Ledger: ledger, Answers: ledger.answers}, before)
		}
		if err := switchOn(ctx, ledger, core); err != nil {
			return err
		}
		run := purging{out: env.Out, says: env.Err, by: Trail{
			Author: voucher.Author{Request: "server purge"}, By: trail.By(), Why: trail.Why(),
		}}
		run.Purger = Purger{
			Ledger: ledger, Waitlist: waitlistOf(core), Answers: ledger.answers, Progress: run.progress,
		}
		return run.all(ctx, before)
	})
}

// withCore opens the stores; in the embedded mode, whose Redis is not needed, the database alone.
func withCore(ctx context.Context, env cmdline.Env, open feature.Tools, do func(feature.Core) error) error {
	err := open.Core(ctx, env, do)
	if errors.Is(err, feature.ErrEmbedded) {
		return open.Ledger(ctx, env, do)
	}
	return err
}

// each calls do for all candidates.
func each(ctx context.Context, ledger Purging, before time.Time, do func(Candidate) error) error {
	for after := int64(0); ; {
		found, err := ledger.Candidates(ctx, before, after, listed)
		if err != nil {
			return err
		}
		for _, c := range found {
			if err := do(c); err != nil {
				return err
			}
			after = c.VoucherID
		}
		if len(found) < listed {
			return nil
		}
	}
}

// preview prints what a purge would do. A voucher that the ledger does not answer for in time is named, and keeps no
// other from the list.
func preview(ctx context.Context, out io.Writer, p *Purger, before time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "VOUCHER\tSHOP\tENDED\tORDERS\tTITLE\t")
	stays := false
	var failed error
	err := each(ctx, p.Ledger, before, func(c Candidate) error {
		ended, orders, says := "-", "?", ""
		if c.Sale {
			ended = c.EndTime.In(before.Location()).Format(time.DateTime)
		}
		owed, err := p.Ledger.Debts(ctx, c)
		if err == nil {
			var n int64
			n, err = p.Ledger.Count(ctx, c)
			orders = digits(n)
		}
		switch {
		case err != nil && p.endsAll(ctx, err):
			return err
		case err != nil:
			failed = errors.Join(failed, err)
			orders, says = "?", fmt.Sprintf("failed: %v", err)
		case len(owed) > 0:
			says, stays = "stays: "+owed.String(), true
		}
		_, err = fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t%s\n", c.VoucherID, c.ShopID, ended, orders, c.Title, says)
		return err
	})
	if err = errors.Join(err, table.Flush(), failed); err != nil {
		return err
	}
	if stays {
		return cmdline.ErrFound
	}
	return nil
}

// purging is one run of the command.
type purging struct {
	Purger

	out, says io.Writer
	by        Trail
	said      time.Time // when progress was printed last
}

// all purges all candidates and prints what became of each.
func (p *purging) all(ctx context.Context, before time.Time) error {
	stays, orders := false, int64(0)
	var failed error
	err := each(ctx, p.Ledger, before, func(c Candidate) error {
		done, err := p.Purge(ctx, c, 0, p.by, Purged{}, func() bool { return true })
		orders += done.Orders
		switch {
		case err != nil && p.endsAll(ctx, err):
			return err
		case err != nil:
			failed = errors.Join(failed, err)
			_, err = fmt.Fprintf(p.out, "voucher %d: failed: %v\n", c.VoucherID, err)
		case done.Refused:
			_, err = fmt.Fprintf(p.out, "voucher %d: stays: %s\n", c.VoucherID, done.Owed)
		case len(done.Owed) > 0:
			_, err = fmt.Fprintf(p.out, "voucher %d: %d orders are gone; some stay: %s\n", c.VoucherID, done.Orders,
				done.Owed)
		default:
			_, err = fmt.Fprintf(p.out, "voucher %d: %d orders are gone\n", c.VoucherID, done.Orders)
		}
		stays = stays || len(done.Owed) > 0
		return err
	})
	if err != nil {
		return errors.Join(failed, err)
	}
	if _, err := fmt.Fprintf(p.out, "%d orders are gone\n", orders); err != nil {
		return err
	}
	if failed == nil && stays {
		return cmdline.ErrFound
	}
	return failed
}

// progress prints every few seconds how far a purge has got.
func (p *purging) progress(c Candidate, orders, rows int64) {
	const every = 2 * time.Second
	if time.Since(p.said) < every {
		return
	}
	p.said = time.Now()
	_, _ = fmt.Fprintf(p.says, "voucher %d: %d orders and %d other rows are gone so far\n", c.VoucherID, orders, rows)
}

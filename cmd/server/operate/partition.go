package operate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order/partition"
)

const partitionHelp = `server partition shows in which partitions sales are, and takes partitions out of use.
SECKILL_PARTITIONS adds partitions. It works beside running instances, on the configured stores.

  server partition list        all partitions, with state, sales,
                               waiting entries and Redis node
  server partition close N     assign no new sales to it; those in it go on
  server partition open N      reverse close
  server partition remove N    remove it for good, once it is closed and empty: all its sales
                               retired (a day after their end), no order that waits for
                               its row, no dead letter. Its number is never used again

Instances notice a change within some five seconds. Partition 0 can be closed, but not removed.`

// Partition runs the command partition.
func Partition(ctx context.Context, env wiring.Env) error {
	args := env.Args
	switch {
	case len(args) > 1 && cmdline.IsHelp(args[1]): // after the subcommand
		env.Args = args[1:]
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		env.Args = nil // the next argument is a number, even if it begins with a -
	}
	set := flag.NewFlagSet("partition", flag.ContinueOnError)
	if err := cmdline.ParseFlags(env.Env, set, partitionHelp); err != nil {
		return err
	}
	if len(args) == 1 && args[0] == "list" {
		return withPartitions(ctx, env, func(a *partition.Admin) error { return listPartitions(ctx, env.Out, a) })
	}
	change, n, wrong := partitionChange(args)
	if wrong != "" {
		return cmdline.Misuse(set, wrong)
	}
	return withPartitions(ctx, env, func(a *partition.Admin) error {
		if err := change(a, ctx, n); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.Out, "partition %d: %s is done; all instances know within some five seconds\n",
			n, args[0])
		return err
	})
}

// partitionChange returns the change and the partition's number, or a text about the mistake in the arguments.
func partitionChange(args []string) (change func(*partition.Admin, context.Context, int) error, n int, wrong string) {
	if len(args) == 0 {
		return nil, 0, "the subcommand is missing (list, close, open or remove)"
	}
	change = map[string]func(*partition.Admin, context.Context, int) error{
		"close": (*partition.Admin).Close, "open": (*partition.Admin).Open, "remove": (*partition.Admin).Remove,
	}[args[0]]
	switch {
	case args[0] == "list":
		return nil, 0, fmt.Sprintf("unexpected argument %q", args[1])
	case change == nil:
		return nil, 0, fmt.Sprintf("there is no subcommand %q (list, close, open or remove)", args[0])
	case len(args) != 2:
		return nil, 0, args[0] + " needs the number of one partition; server partition list shows them"
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 || n >= partition.Max {
		return nil, 0, fmt.Sprintf("%q is not a partition's number (allowed: 0 to %d)", args[1], partition.Max-1)
	}
	return change, n, ""
}

func withPartitions(ctx context.Context, env wiring.Env, f func(*partition.Admin) error) error {
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		return f(partition.NewAdmin(w.Stores.Ledger, w.Stores.Redis))
	})
}

func listPartitions(ctx context.Context, out io.Writer, admin *partition.Admin) error {
	all, err := admin.List(ctx)
	if err != nil {
		return err
	}
	var (
		failed []error
		notes  []string
	)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PARTITION\tSTATE\tSINCE\tSALES\tENTRIES WAIT\tOLDEST\tDEAD LETTERS\tINSTANCES\tREDIS")
	for _, c := range all {
		since, redis := "the beginning", c.Waiting.Node
		if !c.Since.IsZero() {
			since = c.Since.Format(time.RFC3339)
		}
		waiting := fmt.Sprintf("%d\t%v\t%d\t%d", c.Waiting.Orders, c.Waiting.Oldest.Round(time.Second),
			c.Waiting.DeadLetters, c.Instances)
		if c.Away != nil {
			waiting, redis = "?\t?\t?\t?", "does not answer"
			if errors.Is(c.Away, partition.ErrFormat) {
				redis = "has other data"
			}
			failed = append(failed, fmt.Errorf("partition %d: %w", c.Number, c.Away))
		}
		if len(c.Missing) > 0 {
			notes = append(notes, fmt.Sprintf("partition %d: it gets no new sales, since these instances do "+
				"not work there; are they of an older version? %s\n",
				c.Number, strings.Join(c.Missing, ", ")))
		}
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\n", c.Number, c.State, since, c.Sales, waiting, redis)
	}
	failed = append(failed, table.Flush())
	_, err = io.WriteString(out, strings.Join(notes, ""))
	return errors.Join(append(failed, err)...)
}

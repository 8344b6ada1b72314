package operate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/features"
	"seckill/internal/kit/cmdline"
	"seckill/internal/lock"
	"seckill/internal/voucher"
)

// locksHelp is the help of the command, with the locks of features.
func locksHelp() string {
	jobs := append([]string{
		"auditor, which audits sales", "expirer, which expires unpaid orders",
		"keys, which deletes idempotency keys after 30 days",
	}, features.List().Locks()...)
	return locksHelpHead + "  " + strings.Join(jobs, "\n  ") + locksHelpEnd
}

const locksHelpHead = `server locks shows who has the service's locks, and takes one away from a holder that hangs. It
works beside running instances, on the configured Redis.

  server locks list
  server locks force -why TEXT [-yes] NAME...

The locks: sale:<voucher>, of the instance that rebuilds or retires that sale, and those of the instance
that does a job for all:

`

const locksHelpEnd = `

A holder that dies frees its lock within seconds, so there is rarely a reason to force one.

server locks <command> --help tells more.`

const listLocksHelp = `server locks list prints the present holders: host and process, when the lock ends if it
is not renewed, and the fencing token.`

const forceLocksHelp = `server locks force frees locks by force, even held ones. It asks for -yes, and without it
shows their holders. A holder goes on until it notices, within some two seconds; what it writes
until then is refused by the fence of its work (a sale's epoch, or the lock's token). The audit
trail and the log say who forced which lock, and why.

  server locks force -why "instance b hangs, ticket 4711" -yes sale:42`

// Locks runs the command locks.
func Locks(ctx context.Context, env wiring.Env) error {
	what, rest, err := cmdline.Subcommand(env.Env, "locks", locksHelp(), "list", "force")
	if err != nil {
		return err
	}
	env.Env = rest
	if what == "list" {
		return listLocks(ctx, env)
	}
	return forceLocks(ctx, env)
}

func listLocks(ctx context.Context, env wiring.Env) error {
	if err := cmdline.Parse(env.Env, flag.NewFlagSet("locks list", flag.ContinueOnError), listLocksHelp); err != nil {
		return err
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		names, err := w.Locks().Mutexes(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "NAME\tHOST/PROCESS\tENDS IN\tTOKEN")
		for _, name := range names {
			state, err := w.Locks().Mutex(name).State(ctx)
			if err != nil {
				return err
			}
			for _, h := range state.Holders { // none, if it was released meanwhile
				_, _ = fmt.Fprintf(table, "%q\t%s\t%s\t%d\n", name, h.Label, h.TTL.Round(time.Millisecond), state.Token)
			}
		}
		return table.Flush() // it returns earlier errors
	})
}

func forceLocks(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("locks force", flag.ContinueOnError)
	trail := cmdline.TrailFlags(env.Env, set)
	yes := set.Bool("yes", false, "do it")
	if err := cmdline.ParseFlags(env.Env, set, forceLocksHelp); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return cmdline.Misuse(set, "no name is given; server locks list shows them")
	}
	if err := trail.Check(set); err != nil {
		return err
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		var failed []error
		for _, name := range set.Args() {
			if *yes {
				what := voucher.FieldChange{Field: "lock", To: name}
				if err := note(ctx, w, "server locks", voucher.Forced, what, trail); err != nil {
					failed = append(failed, err)
					continue
				}
			}
			done, err := forceLock(ctx, w.Locks().Mutex(name), *yes)
			if *yes {
				if err != nil {
					done = "unknown" // the lock may be free all the same
				}
				w.Log.WarnContext(ctx, "a lock was forced", "lock", name, "was", done, "by", trail.By(),
					"why", trail.Why(), "error", err)
			}
			if err != nil {
				failed = append(failed, err)
				continue
			}
			if _, err := fmt.Fprintf(env.Out, "%s: %s\n", name, done); err != nil {
				return err
			}
		}
		if !*yes {
			return errors.Join(append(failed, cmdline.Misuse(set, "nothing was done; -yes does it"))...)
		}
		return errors.Join(failed...)
	})
}

// forceLock takes a lock away from its holder if really is true, and returns a text about the holder.
func forceLock(ctx context.Context, l *lock.Lock, really bool) (string, error) {
	state, err := l.State(ctx)
	if err != nil {
		return "", err
	}
	was := "free"
	if state.IsLocked() {
		was = fmt.Sprintf("held by %s, token %d", state.Holders[0].Label, state.Token)
	}
	if !really {
		return was, nil
	}
	held, err := l.ForceUnlock(ctx)
	if err != nil {
		return "", err
	}
	if !held {
		return "was free", nil
	}
	return was + "; is free now", nil
}

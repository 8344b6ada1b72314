package operate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
)

const deadletterHelp = `server deadletter handles stream entries that could not be decoded and were put aside: somebody
wrote or damaged them by hand, or a version of the service wrote them that this one does not
understand. It works beside running instances, on the configured stores.

  server deadletter list [-n 50] [-after ID]
  server deadletter replay  -why TEXT ID...
  server deadletter discard -why TEXT [-yes] ID...

The list shows the state of each dead letter's order:

  waiting     accepted, and not recorded: its buyer knows the order id. replay queues it
              to be recorded; discard makes it fail. If you do neither, the auditor finds
              the order within some ten seconds and has it queued as replay does
  recorded    the order has its row: discard the dead letter; nothing else changes
  unknown     the order makes nobody a holder, so no buyer knows it: discard it
  unreadable  it does not say which order it was: discard it. If there was an order,
              its holder is left: the service finds that holder by itself, and server
              reconcile shows it

Before a dead letter is replayed or discarded, the audit trail records who does it, and why.

With several partitions (SECKILL_PARTITIONS) the list goes through one after the other, and ids in
partition 2 begin with p2: p2:1764000000000-0.

server deadletter <command> --help tells more.`

const listHelp = `server deadletter list prints dead letters, the oldest first, with what is known of their orders.`

const replayHelp = `server deadletter replay queues the orders of dead letters again and removes the dead letters, both
or neither: an order is queued once, however often you repeat this.
It ignores the entry's epoch and sequence; voucher, user and order must be readable.

  server deadletter replay -why "field e was garbled by a script" 1764000000000-0`

const discardHelp = `server deadletter discard removes dead letters for good. It asks for -yes; without it, it prints
what it would do.

If the order was accepted and is not recorded, its buyer knows the order id and has a unit. So
discard first makes the order fail, with the reason DISCARDED, which the buyer sees; they may buy
again, and the unit goes back on sale. This cannot be undone.

  server deadletter discard -why "written by hand for a test" -yes 1764000000000-0`

// Deadletter runs the command deadletter.
func Deadletter(ctx context.Context, env wiring.Env) error {
	what, rest, err := cmdline.Subcommand(env.Env, "deadletter", deadletterHelp, "list", "replay", "discard")
	if err != nil {
		return err
	}
	env.Env = rest
	switch what {
	case "list":
		return listLetters(ctx, env)
	case "replay":
		return replayLetters(ctx, env)
	default:
		return discardLetters(ctx, env)
	}
}

func listLetters(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("deadletter list", flag.ContinueOnError)
	n := set.Int("n", 50, "print at most this `many` dead letters, 1 to 1000")
	after := set.String("after", "", "begin after the dead letter with this `id`")
	if err := cmdline.Parse(env.Env, set, listHelp); err != nil {
		return err
	}
	if *n < 1 || *n > 1000 {
		return cmdline.Misuse(set, fmt.Sprintf("-n is %d (allowed: 1 to 1000)", *n))
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		letters, total, err := w.DeadLetters.List(ctx, *after, *n)
		if err != nil {
			return err
		}
		if total == 0 {
			_, err = fmt.Fprintln(env.Out, "no dead letters")
			return err
		}
		if err := printLetters(env.Out, letters); err != nil {
			return err
		}
		next := ""
		if len(letters) == *n && int64(*n) < total {
			next = fmt.Sprintf("; the next ones: server deadletter list -n %d -after %s", *n, letters[*n-1].ID)
		}
		_, err = fmt.Fprintf(env.Out, "\n%d of %d%s\n", len(letters), total, next)
		return err
	})
}

func printLetters(out io.Writer, letters []recorder.DeadLetter) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tPUT ASIDE\tORDER IS\tVOUCHER\tUSER\tORDER\tWHAT IS WRONG\tFIELDS")
	for _, l := range letters {
		stands := l.State.String()
		if l.State == recorder.DeadLetterRecorded {
			stands += ", " + l.Status.String()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.At.Format(time.RFC3339), stands,
			known(l.Claim.VoucherID), known(l.Claim.UserID), known(l.Claim.OrderID), l.Why, fieldsOf(l))
	}
	return table.Flush() // it returns earlier errors
}

// known formats an id; an unknown one as a word.
func known(id int64) string {
	if id == 0 {
		return "?"
	}
	return fmt.Sprint(id)
}

// fieldsOf formats the fields of an entry on one line, quoted, since they may have been written by hand.
func fieldsOf(l recorder.DeadLetter) string {
	const most, longest = 8, 40
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		if len(texts) == most {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, fmt.Sprintf("%.*q=%.*q", longest, name, longest, l.Fields[name]))
	}
	return strings.Join(texts, " ")
}

// parseLetters reads the flags of a command that changes the dead letters whose ids are its arguments.
func parseLetters(env wiring.Env, set *flag.FlagSet, about string) (cmdline.Trail, error) {
	trail := cmdline.TrailFlags(env.Env, set)
	if err := cmdline.ParseFlags(env.Env, set, about); err != nil {
		return trail, err
	}
	for _, id := range set.Args() {
		if strings.HasPrefix(id, "-") {
			return trail, cmdline.Misuse(set, fmt.Sprintf("%s comes after an id; flags come first", id))
		}
	}
	if set.NArg() == 0 {
		return trail, cmdline.Misuse(set, "no id is given; server deadletter list shows them")
	}
	return trail, trail.Check(set)
}

func replayLetters(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("deadletter replay", flag.ContinueOnError)
	trail, err := parseLetters(env, set, replayHelp)
	if err != nil {
		return err
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		return eachLetter(env, set.Args(), func(id string) (string, error) {
			if err := noteLetter(ctx, w, trail, voucher.Replayed, id); err != nil {
				return "", err
			}
			c, err := w.DeadLetters.Replay(ctx, id, trail.By(), trail.Why())
			return fmt.Sprintf("order %d of user %d is queued again", c.OrderID, c.UserID), err
		})
	})
}

func discardLetters(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("deadletter discard", flag.ContinueOnError)
	yes := set.Bool("yes", false, "really discard: it cannot be undone")
	trail, err := parseLetters(env, set, discardHelp)
	if err != nil {
		return err
	}
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		if !*yes {
			if err := eachLetter(env, set.Args(), func(id string) (string, error) {
				l, err := w.DeadLetters.Find(ctx, id)
				return wouldDiscard(l), err
			}); err != nil {
				return err
			}
			return cmdline.Misuse(set, "nothing was done; -yes does it")
		}
		return eachLetter(env, set.Args(), func(id string) (string, error) {
			if err := noteLetter(ctx, w, trail, voucher.Discarded, id); err != nil {
				return "", err
			}
			l, err := w.DeadLetters.Discard(ctx, id, trail.By(), trail.Why())
			if err != nil {
				return "", err
			}
			if l.Status == order.Failed { // a rebuild under way may have counted the unit as taken
				err = requestRepair(ctx, w, l.Claim.VoucherID, order.NoBadEpoch)
			}
			return discarded(l), err
		})
	})
}

// noteLetter writes to the audit trail that the command is about to change a dead letter. It returns an error if there
// is no dead letter with the id.
func noteLetter(
	ctx context.Context, w *wiring.Tool, trail cmdline.Trail, action voucher.Action, id string,
) error {
	if _, err := w.DeadLetters.Find(ctx, id); err != nil {
		return err
	}
	return note(ctx, w, "server deadletter", action, voucher.FieldChange{Field: "deadLetter", To: id}, trail)
}

func wouldDiscard(l recorder.DeadLetter) string {
	if l.State == recorder.DeadLetterWaiting {
		return fmt.Sprintf("order %d of user %d would fail, and its unit go back on sale",
			l.Claim.OrderID, l.Claim.UserID)
	}
	return "the dead letter would go, and nothing else would change"
}

func discarded(l recorder.DeadLetter) string {
	if l.State == recorder.DeadLetterRecorded {
		return fmt.Sprintf("gone; order %d of user %d is %s", l.Claim.OrderID, l.Claim.UserID, l.Status)
	}
	return "gone"
}

// eachLetter calls do for each of the letters, prints the results, and returns an error if a call failed.
func eachLetter(env wiring.Env, ids []string, do func(id string) (string, error)) error {
	var failed []error
	for _, id := range ids {
		done, err := do(id)
		if err != nil {
			failed = append(failed, fmt.Errorf("letter %s: %w", id, err))
			continue
		}
		if _, err := fmt.Fprintf(env.Out, "%s: %s\n", id, done); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

package main

import (
	"cmp"
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

	"seckill/internal/order"
)

const deadletterHelp = `server deadletter is for accepted orders that could not be read from the stream and were
put aside: somebody wrote or damaged them by hand, or a version of the service that this
one does not understand. It works beside running instances, on the stores that the
settings name.

  server deadletter list [-n 50] [-after ID]
  server deadletter replay  -why TEXT ID...
  server deadletter discard -why TEXT [-yes] ID...

In the list, each letter says how its order stands:

  waiting     accepted, and not recorded: its buyer has been told his order id.
              replay has it recorded; discard makes it fail. Left alone, the audit finds
              it within some ten seconds and does as replay does
  recorded    the order has its row: discard the letter, nothing else changes
  unknown     nobody has a place by this order, so nobody was told that he has it:
              discard the letter
  unreadable  it does not say whose order it was: discard the letter. Was it one,
              its buyer's place still tells of it: the service finds that by itself,
              and server reconcile shows it

server deadletter <command> --help tells more.`

const listHelp = `server deadletter list prints dead letters, the oldest first, with what is known of their orders.`

const replayHelp = `server deadletter replay queues the orders of dead letters again and removes the letters, both or
neither: an order is queued once, however often this is repeated and whoever else does it.
Epoch and sequence of the entry are left out; voucher, user and order must be readable.

  server deadletter replay -why "field e was garbled by a script" 1764000000000-0`

const discardHelp = `server deadletter discard removes dead letters for good. It asks for -yes, and says without it
what it would do.

If a letter's order was accepted and is not recorded, its buyer has been told an order id and holds
a unit. So the order becomes a failed one first, with the reason DISCARDED, which its buyer
sees; he loses his place, may buy again, and the unit goes back on sale. This cannot be undone.

  server deadletter discard -why "written by hand for a test" -yes 1764000000000-0`

// deadletter is the command deadletter.
func deadletter(ctx context.Context, env environment) error {
	set := flag.NewFlagSet("deadletter", flag.ContinueOnError)
	if len(env.args) == 0 || strings.HasPrefix(env.args[0], "-") {
		if err := parse(env, set, deadletterHelp); err != nil {
			return err
		}
		return misuseOf(env, set, "what is to be done is missing (list, replay or discard)")
	}
	what := env.args[0]
	env.args = env.args[1:]
	switch what {
	case "list":
		return listLetters(ctx, env)
	case "replay":
		return replayLetters(ctx, env)
	case "discard":
		return discardLetters(ctx, env)
	default:
		return misuseOf(env, set, fmt.Sprintf("there is no %q (list, replay or discard)", what))
	}
}

// misuseOf is misuse for a set that has not parsed anything.
func misuseOf(env environment, set *flag.FlagSet, wrong string) error {
	set.SetOutput(env.err)
	return misuse(set, wrong)
}

func listLetters(ctx context.Context, env environment) error {
	set := flag.NewFlagSet("deadletter list", flag.ContinueOnError)
	n := set.Int("n", 50, "how `many` letters are printed at most, 1 to 1000")
	after := set.String("after", "", "the `id` of the letter behind which to begin")
	if err := parse(env, set, listHelp); err != nil {
		return err
	}
	if *n < 1 || *n > 1000 {
		return misuse(set, fmt.Sprintf("-n is %d (allowed: 1 to 1000)", *n))
	}
	w, err := openWorkbench(ctx, env)
	if err != nil {
		return err
	}
	defer w.close(ctx)
	letters, total, err := w.letters.List(ctx, *after, *n)
	if err != nil {
		return err
	}
	if total == 0 {
		_, err = fmt.Fprintln(env.out, "no dead letters")
		return err
	}
	if err := printLetters(env.out, letters); err != nil {
		return err
	}
	if len(letters) == *n && int64(*n) < total {
		_, err = fmt.Fprintf(env.out, "\n%d of %d; the next ones: server deadletter list -n %d -after %s\n",
			len(letters), total, *n, letters[len(letters)-1].ID)
		return err
	}
	_, err = fmt.Fprintf(env.out, "\n%d of %d\n", len(letters), total)
	return err
}

func printLetters(out io.Writer, letters []order.DeadLetter) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tPUT ASIDE\tORDER IS\tVOUCHER\tUSER\tORDER\tWHAT IS WRONG\tFIELDS")
	for _, l := range letters {
		stands := l.Standing.String()
		if l.Standing == order.StandingRecorded {
			stands += ", " + l.Status.String()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.At.Format(time.RFC3339), stands,
			known(l.Claim.VoucherID), known(l.Claim.UserID), known(l.Claim.OrderID), l.Why, fieldsOf(l))
	}
	return table.Flush() // it has kept what went wrong before
}

// known shows an id, or that there is none.
func known(id int64) string {
	if id == 0 {
		return "?"
	}
	return fmt.Sprint(id)
}

// fieldsOf shows what stands in an entry, in one line, quoted: anybody may have written it.
func fieldsOf(l order.DeadLetter) string {
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

// wish is what somebody wants done with letters.
type wish struct {
	ids     []string
	by, why string
}

// parseWish reads the flags and ids of a command that changes something; extra adds flags of its own.
func parseWish(env environment, set *flag.FlagSet, about string) (wish, error) {
	by := set.String("by", cmp.Or(variable(env, "USER"), variable(env, "LOGNAME"), "unknown"), "`who` does it, for the log")
	why := set.String("why", "", "for what `reason`, for the log (required)")
	if err := parseFlags(env, set, about); err != nil {
		return wish{}, err
	}
	for _, id := range set.Args() {
		if strings.HasPrefix(id, "-") {
			return wish{}, misuse(set, fmt.Sprintf("%s stands behind an id; flags come before", id))
		}
	}
	switch {
	case set.NArg() == 0:
		return wish{}, misuse(set, "no id is given; server deadletter list shows them")
	case strings.TrimSpace(*why) == "":
		return wish{}, misuse(set, "-why is missing: the log is to say for what reason")
	}
	return wish{ids: set.Args(), by: *by, why: *why}, nil
}

// variable returns a variable of the environment, "" when it is not set.
func variable(env environment, name string) string {
	for _, kv := range env.environ {
		if value, is := strings.CutPrefix(kv, name+"="); is {
			return value
		}
	}
	return ""
}

func replayLetters(ctx context.Context, env environment) error {
	wish, err := parseWish(env, flag.NewFlagSet("deadletter replay", flag.ContinueOnError), replayHelp)
	if err != nil {
		return err
	}
	w, err := openWorkbench(ctx, env)
	if err != nil {
		return err
	}
	defer w.close(ctx)
	return eachLetter(env, wish, func(id string) (string, error) {
		c, err := w.letters.Replay(ctx, id, wish.by, wish.why)
		return fmt.Sprintf("order %d of user %d is queued again", c.OrderID, c.UserID), err
	})
}

func discardLetters(ctx context.Context, env environment) error {
	set := flag.NewFlagSet("deadletter discard", flag.ContinueOnError)
	yes := set.Bool("yes", false, "do it: it cannot be undone")
	wish, err := parseWish(env, set, discardHelp)
	if err != nil {
		return err
	}
	w, err := openWorkbench(ctx, env)
	if err != nil {
		return err
	}
	defer w.close(ctx)
	if !*yes {
		if err := eachLetter(env, wish, func(id string) (string, error) {
			l, err := w.letters.Find(ctx, id)
			return wouldDiscard(l), err
		}); err != nil {
			return err
		}
		return misuse(set, "nothing was done; -yes does it")
	}
	return eachLetter(env, wish, func(id string) (string, error) {
		l, err := w.letters.Discard(ctx, id, wish.by, wish.why)
		if err != nil {
			return "", err
		}
		if l.Status == order.Failed { // a rebuild under way may have counted the unit as taken
			err = w.mend(ctx, l.Claim.VoucherID, order.NotBroken)
		}
		return discarded(l), err
	})
}

func wouldDiscard(l order.DeadLetter) string {
	if l.Standing == order.StandingWaiting {
		return fmt.Sprintf("order %d of user %d would fail, and its unit go back on sale", l.Claim.OrderID, l.Claim.UserID)
	}
	return "the letter would go, and nothing else change"
}

func discarded(l order.DeadLetter) string {
	if l.Standing == order.StandingRecorded {
		return fmt.Sprintf("gone; order %d of user %d is %s", l.Claim.OrderID, l.Claim.UserID, l.Status)
	}
	return "gone"
}

// eachLetter does something with each of the letters, says what came of it, and fails when one failed.
func eachLetter(env environment, w wish, do func(id string) (string, error)) error {
	var failed []error
	for _, id := range w.ids {
		done, err := do(id)
		if err != nil {
			failed = append(failed, fmt.Errorf("letter %s: %w", id, err))
			continue
		}
		if _, err := fmt.Fprintf(env.out, "%s: %s\n", id, done); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

package webhook

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"seckill/internal/feature"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

const help = `server webhook manages the endpoints to which changes of orders and waiting lists are sent. It
works beside running instances, on the database that the settings name. What it changes is in the audit
trail as the service's.

  server webhook list
  server webhook add -shop ID -url URL [-types LIST] [-description TEXT]
  server webhook enable|disable|test ID
  server webhook delete [-yes] ID
  server webhook rotate [-at-once] ID
  server webhook events [-n 50] ID
  server webhook dead [-n 50] ID
  server webhook replay (-event WEBHOOK-ID | -from TIME [-to TIME]) ID

add and rotate print the secret, which is shown nowhere else. After rotate the secret before signs too
for 24 hours; with -at-once it ends now. dead lists events that an endpoint did not take in spite of all
attempts; replay sends them, or any other that is kept, again.`

// tool is the command webhook, with its flags.
type tool struct {
	admin *dispatch.Admin
	out   io.Writer

	id       int64
	terms    dispatch.Terms
	types    string
	atOnce   bool
	yes      bool
	n        int
	event    string
	from, to string
}

// command runs the command webhook.
func command(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	what, env, err := cmdline.Subcommand(env, "webhook", help,
		"list", "add", "enable", "disable", "delete", "test", "rotate", "events", "dead", "replay")
	if err != nil {
		return err
	}
	t := tool{out: env.Out}
	set := flag.NewFlagSet("webhook "+what, flag.ContinueOnError)
	run := t.command(what, set)
	if err := cmdline.ParseFlags(env, set, help); err != nil {
		return err
	}
	if err := t.readID(set, what); err != nil {
		return err
	}
	return open.Ledger(ctx, env, func(core feature.Core) error {
		out := newSender(core)
		defer out.Close()
		t.admin = newAdmin(NewLedger(core.DB, core.Orders), out)
		return run(ctx)
	})
}

// command declares the flags of a command and returns the function that runs it.
func (t *tool) command(what string, set *flag.FlagSet) func(context.Context) error {
	switch what {
	case "list":
		return t.list
	case "add":
		set.Int64Var(&t.terms.ShopID, "shop", 0, "the `id` of the shop whose orders are told; 0: those of all shops")
		set.StringVar(&t.terms.URL, "url", "", "the `address` to which they are sent (required)")
		set.StringVar(&t.types, "types", "", "the `types` of events, comma-separated; none: all")
		set.StringVar(&t.terms.Description, "description", "", "a `text`: what it is for")
		return t.add
	case "enable", "disable":
		return func(ctx context.Context) error { return t.set(ctx, what == "disable") }
	case "delete":
		set.BoolVar(&t.yes, "yes", false, "do it: it cannot be undone")
		return func(ctx context.Context) error { return t.remove(ctx, set) }
	case "test":
		return t.test
	case "rotate":
		set.BoolVar(&t.atOnce, "at-once", false, "the old secret ends now: for one that was disclosed")
		return t.rotate
	case "events", "dead":
		set.IntVar(&t.n, "n", 50, "how `many` are printed at most")
		return func(ctx context.Context) error { return t.events(ctx, what == "dead") }
	default: // replay
		set.StringVar(&t.event, "event", "", "the `webhook-id` of an event")
		set.StringVar(&t.from, "from", "", "the events from this `time` on, such as 2026-11-11T20:00:00Z")
		set.StringVar(&t.to, "to", "", "up to this `time`, exclusive; none: now")
		return t.replay
	}
}

// readID reads the endpoint's id, which all commands but two need.
func (t *tool) readID(set *flag.FlagSet, what string) error {
	want := 1
	if what == "list" || what == "add" {
		want = 0
	}
	if set.NArg() != want {
		return cmdline.Misuse(set,
			fmt.Sprintf("%d arguments are given behind the flags, want %d: an endpoint's id, which "+
				"server webhook list shows", set.NArg(), want))
	}
	if want == 0 {
		return nil
	}
	id, err := strconv.ParseInt(set.Arg(0), 10, 64)
	if err != nil || id < 1 {
		return cmdline.Misuse(set, fmt.Sprintf("%q is no id; server webhook list shows them", set.Arg(0)))
	}
	t.id = id
	return nil
}

// byService returns the author of an operator's changes at the command line.
func byService() voucher.Author { return voucher.Author{Request: "server webhook"} }

func (t *tool) list(ctx context.Context) error {
	endpoints, err := t.admin.Endpoints.Endpoints(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tSHOP\tSTATE\tFAILURES\tLAST SUCCESS\tTYPES\tURL\tLAST ERROR")
	for _, e := range endpoints {
		_, _ = fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", e.ID, shopOf(e), stateOf(e), e.Health.Failures,
			shownTime(e.SuccessAt), cmp.Or(dispatch.JoinTypes(e.Types), "all"), e.URL, e.LastFailure.In(words.English))
	}
	return table.Flush() // it keeps earlier errors
}

func shopOf(e dispatch.Endpoint) string {
	if e.ShopID == 0 {
		return "all"
	}
	return strconv.FormatInt(e.ShopID, 10)
}

func stateOf(e dispatch.Endpoint) string {
	switch {
	case e.Disabled:
		return "disabled: " + e.DisabledWhy.In(words.English)
	case e.Health.Broken():
		return "failing"
	case e.Replaying():
		return "replaying"
	}
	return "enabled"
}

func shownTime(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.UTC().Format(time.RFC3339)
}

func (t *tool) add(ctx context.Context) error {
	t.terms.Types = dispatch.ParseTypes(t.types)
	e, err := t.admin.Create(ctx, t.terms, byService())
	if err != nil {
		return err
	}
	return t.say("endpoint %d, with the secret %s\n", e.ID, string(e.Secret))
}

func (t *tool) say(format string, args ...any) error {
	_, err := fmt.Fprintf(t.out, format, args...)
	return err
}

func (t *tool) set(ctx context.Context, disabled bool) error {
	e, err := t.admin.Change(ctx, t.id, func(terms *dispatch.Terms) { terms.Disabled = disabled }, byService())
	if err != nil {
		return err
	}
	return t.say("endpoint %d is %s\n", e.ID, stateOf(e))
}

// remove deletes the endpoint with -yes. Without, it prints the effects of deleting it.
func (t *tool) remove(ctx context.Context, set *flag.FlagSet) error {
	if !t.yes {
		e, err := t.admin.Endpoints.Endpoint(ctx, t.id)
		if err != nil {
			return err
		}
		if err := t.say("endpoint %d (%s) would go, with all that waits for it\n", e.ID, e.URL); err != nil {
			return err
		}
		return cmdline.Misuse(set, "nothing was done; -yes does it")
	}
	if err := t.admin.Endpoints.DeleteEndpoint(ctx, t.id, byService()); err != nil {
		return err
	}
	return t.say("endpoint %d is gone, with all that waited for it\n", t.id)
}

func (t *tool) test(ctx context.Context) error {
	result, err := t.admin.Test(ctx, t.id)
	switch {
	case err != nil:
		return err
	case result.Failure != dispatch.Failure{}:
		_ = t.say("not taken after %v: %s\n", result.Took.Round(time.Millisecond), result.Failure.In(words.English))
		return cmdline.ErrFound
	}
	return t.say("taken after %v, as %s\n", result.Took.Round(time.Millisecond), result.ID)
}

func (t *tool) rotate(ctx context.Context) error {
	e, err := t.admin.Rotate(ctx, t.id, t.atOnce, byService())
	if errors.Is(err, dispatch.ErrRotating) {
		return fmt.Errorf("%w; wait until it ends, or end it now with -at-once", err)
	}
	if err != nil {
		return err
	}
	old := "; the one before signs no longer"
	if !t.atOnce {
		old = "; the one before signs too until " + shownTime(e.OldSecretUntil)
	}
	return t.say("endpoint %d has the secret %s%s\n", e.ID, string(e.Secret), old)
}

func (t *tool) events(ctx context.Context, dead bool) error {
	read := t.admin.Log.Deliveries
	if dead {
		read = t.admin.Log.DeadLetters
	}
	var deliveries []dispatch.Delivery
	for next := int64(math.MaxInt64); next != 0 && len(deliveries) < t.n; {
		page, behind, err := read(ctx, t.id, next, t.n-len(deliveries))
		if err != nil {
			return err
		}
		deliveries, next = append(deliveries, page...), behind
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "EVENT\tTYPE\tAT\tSTATE\tFAILED ATTEMPTS\tERROR")
	for _, d := range deliveries {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n",
			d.Event.ID(), d.Event.Type, shownTime(d.Event.At), d.State, d.Attempts, d.Failure.In(words.English))
	}
	return table.Flush() // it keeps earlier errors
}

func (t *tool) replay(ctx context.Context) error {
	if t.event != "" {
		if err := t.admin.ReplayEvent(ctx, t.id, t.event, byService()); err != nil {
			return err
		}
		return t.say("%s will be sent again, and those of its subject after it\n", t.event)
	}
	from, err := time.Parse(time.RFC3339, t.from)
	if err != nil {
		return fmt.Errorf("-from is %q (allowed: a time such as 2026-11-11T20:00:00Z, or -event instead)", t.from)
	}
	var to time.Time
	if t.to != "" {
		if to, err = time.Parse(time.RFC3339, t.to); err != nil {
			return fmt.Errorf("-to is %q (allowed: a time such as 2026-11-11T21:00:00Z)", t.to)
		}
	}
	n, err := t.admin.ReplayTime(ctx, t.id, from, to, byService())
	if err != nil {
		return err
	}
	return t.say("%d events will be sent again, less those of other shops and types\n", n)
}

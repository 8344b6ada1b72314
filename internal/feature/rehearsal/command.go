package rehearsal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/check"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// help is the text of its --help before the flags.
const help = `server rehearse plays the sale of a voucher before its day: on the running instances and
their stores, with a crowd of loadgen, on a sale of its own that buyers do not see and that is removed
afterwards. It forecasts when the sale will be sold out, how long answers take and what Redis needs, and
says go or no-go.

  server rehearse -voucher 7
  server rehearse -voucher 7 -buyers 200000 -url http://10.0.0.1:8080,http://10.0.0.2:8080

It reads the settings of the instances (SECKILL_*). The crowd is a process of its own, whose command it
prints; its tokens are signed with SECKILL_JWT_SECRET and SECKILL_JWT_ADMIN_SECRET. It takes processor time
from what runs beside it: run it on a machine of its own.

It refuses while a sale runs, or one begins within an hour.

Exit code: 0 for go, 3 for no-go, 1 when it could not be rehearsed.`

const (
	// longestLoad is the longest time for which buyers may buy. The crowd's own process enforces it, even if this
	// process is killed. The rest of MaxLength is for comparing all answers with all orders, because the orders are
	// removed soon after it.
	longestLoad = 20 * time.Minute
	// endTimeout is how long ending the rehearsal may take, also after Ctrl-C.
	endTimeout = 10 * time.Second
)

// command has the flags of the command server rehearse.
type command struct {
	voucher int64
	crowd   crowd
}

// rehearse runs the command server rehearse.
func rehearse(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	var c command
	set := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	c.flags(set)
	if err := cmdline.Parse(env, set, help); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return cmdline.Misuse(set, err.Error())
	}
	var forecast []check.Line
	err := open.Core(ctx, env, func(core feature.Core) (err error) {
		forecast, err = c.run(ctx, openRehearsals(core), env)
		return err
	})
	switch {
	case errors.Is(err, feature.ErrEmbedded):
		return fmt.Errorf("%w. docs/operations.md#rehearsing-a-sale says how loadgen rehearses there", err)
	case err != nil:
		return err
	}
	if _, err := fmt.Fprintf(env.Out, "\nForecast for the sale of voucher %d\n", c.voucher); err != nil {
		return err
	}
	if err := check.Write(env.Out, forecast, words.English); err != nil {
		return err
	}
	if !check.Go(forecast) {
		return cmdline.ErrFound
	}
	return nil
}

// flags adds the command's flags to the set.
func (c *command) flags(set *flag.FlagSet) {
	set.Int64Var(&c.voucher, "voucher", 0, "the `id` of the voucher whose sale is rehearsed (required)")
	set.Int64Var(&c.crowd.buyers, "buyers", 0, "`number` of buyers; by default twenty for each unit, at most a million")
	set.DurationVar(&c.crowd.duration, "duration", 10*time.Second,
		"`time` within which they arrive, most of them at the start")
	set.StringVar(&c.crowd.url, "url", "http://localhost:8080",
		"where the instances are; several `addresses` with commas between them")
	set.IntVar(&c.crowd.connections, "connections", 256, "`number` of connections of the crowd")
	set.StringVar(&c.crowd.loadgen, "loadgen", "",
		"the `program` loadgen; by default beside this one, or on the PATH")
}

// check returns an error if the parsed flags are wrong.
func (c *command) check() (err error) {
	switch {
	case c.voucher < 1 || c.voucher > voucher.MaxID:
		return fmt.Errorf("-voucher is %d (allowed: 1 to %d)", c.voucher, voucher.MaxID)
	case c.crowd.buyers < 0 || c.crowd.buyers > 100_000_000:
		return fmt.Errorf("-buyers is %d (allowed: 1 to 100000000)", c.crowd.buyers)
	case c.crowd.duration < time.Second || c.crowd.duration > longestLoad:
		return fmt.Errorf("-duration is %s (allowed: 1s to %s)", c.crowd.duration, longestLoad)
	case c.crowd.connections < 1 || c.crowd.connections > 60_000:
		return fmt.Errorf("-connections is %d (allowed: 1 to 60000)", c.crowd.connections)
	}
	for server := range strings.SplitSeq(c.crowd.url, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err != nil ||
			u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return fmt.Errorf("-url is %q (allowed: addresses such as http://localhost:8080)", server)
		}
	}
	c.crowd.loadgen, err = findLoadgen(c.crowd.loadgen)
	return err
}

// run plays the rehearsal and returns its forecast. It removes the rehearsal afterwards, also after Ctrl-C.
func (c *command) run(ctx context.Context, rehearsals *Rehearsals, env cmdline.Env) ([]check.Line, error) {
	if err := c.crowd.reach(ctx); err != nil {
		return nil, fmt.Errorf("no rehearsal: %w", err)
	}
	author := voucher.Author{Request: "rehearse"}
	ends := time.Now().Add(MaxLength) // a little before its sale ends
	v, err := rehearsals.Start(ctx, author, c.voucher)
	if err != nil {
		return nil, notStarted(c.voucher, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if _, err := rehearsals.End(ctx, author, v.ID); err != nil {
			_, _ = fmt.Fprintf(env.Err, "ending the rehearsal, voucher %d: %v; it ends by itself at %s\n",
				v.ID, err, v.Sale.End.UTC().Format(time.TimeOnly+" UTC"))
		}
	}()
	if err := c.crowd.play(ctx, env, v.Voucher, ends); err != nil {
		return nil, err
	}
	finding, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout) // also after Ctrl-C
	defer cancel()
	run, err := rehearsals.Find(finding, v.ID)
	switch {
	case err != nil:
		return nil, err
	case !run.Done:
		return nil, errors.New("the crowd could not hand in what it has measured; its output says why")
	}
	return Forecast(run.Figures), nil
}

// notStarted returns the error for an operator whose rehearsal did not start.
func notStarted(id int64, err error) error {
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return fmt.Errorf("there is no voucher %d", id)
	case errors.Is(err, voucher.ErrNotSeckill):
		return fmt.Errorf("voucher %d is an ordinary one: it has no sale to rehearse", id)
	case errors.Is(err, order.ErrBusy):
		return errors.New("another rehearsal is being started")
	default:
		return fmt.Errorf("no rehearsal: %w", err)
	}
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strings"
	"time"

	"seckill/internal/httpload"
	"seckill/internal/kit/cmdline"
)

// plan is the parsed command line.
type plan struct {
	servers     []*url.URL
	voucher     int64 // 0: create a voucher
	shop, stock int64
	buyers      int
	firstUser   int64
	duration    time.Duration
	curve       curve
	think       time.Duration
	retry       int
	pause       time.Duration
	wait        time.Duration
	timeout     time.Duration
	connections int
	settle      time.Duration
	longest     time.Duration // 0: until every buyer is finished
	seed        uint64
	json        string
	tokens      tokens
}

const about = `loadgen rehearses a sale: buyers buy as real ones do, and at the end every
answer is compared with the service's orders.

  SECKILL_JWT_SECRET=… loadgen
        ten thousand buyers for a thousand units, most of them in the first
        two seconds, at http://localhost:8080
  SECKILL_JWT_SECRET=$(cat data/secret) loadgen
        the same for a service started by make run
  loadgen -buyers 500000 -stock 5000 -curve spike -duration 60s -connections 2000
        tonight at eight
  loadgen -rate 3000 -buyers 90000 -curve flat -wait 2s -json report.json
        three thousand a second for half a minute, each waiting for the recorded order
  loadgen -url http://10.0.0.1:8080,http://10.0.0.2:8080 -voucher 7 -tokens tokens.txt
        two instances, an existing voucher, buyers with their own tokens

Without -voucher, loadgen creates one, which needs an admin's token. Tokens are
signed with SECKILL_JWT_SECRET, the admin's with SECKILL_JWT_ADMIN_SECRET where the
service has one (and SECKILL_JWT_ISSUER, SECKILL_JWT_AUDIENCE), or read from files. The
orders are real ones, of made-up users: rehearse on a system where that does no harm.

It exits with 0 when nothing was lost and nothing sold twice, 1 when something is
wrong, 2 when the command line is wrong, and 130 when Ctrl-C or -longest ended it
early and nothing was wrong until then.`

// readPlan reads the command line, and prints its errors to env.err.
func readPlan(env environment) (plan, error) {
	var p plan
	set := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	servers := set.String("url", "http://localhost:8080",
		"where the service is; several `addresses` with commas between them")
	set.Int64Var(&p.voucher, "voucher", 0, "`id` of the voucher to buy; without it one is created")
	set.Int64Var(&p.shop, "shop", 1, "`id` of the shop in which a voucher is created")
	set.Int64Var(&p.stock, "stock", 1000, "`units` of the voucher that is created")
	set.IntVar(&p.buyers, "buyers", 10_000, "`number` of buyers; with -tokens at most as many as there are tokens")
	set.Int64Var(&p.firstUser, "first-user", 8_000_000_000_000_000,
		"user `id` of the first buyer; the others count up from it")
	set.DurationVar(&p.duration, "duration", 10*time.Second, "`time` within which they arrive")
	rate := set.Float64("rate", 0, "average `number` of buyers who arrive in a second, instead of -duration")
	shape := set.String("curve", "spike",
		"how they arrive: flat: evenly; ramp: faster and faster; spike: most of them at the start")
	set.DurationVar(&p.think, "think", 0,
		"mean `time` between reading the voucher and buying; 0: the voucher is not read")
	set.IntVar(&p.retry, "retry", 10,
		"how many `times` a buyer without an outcome retries (429, 500, 503, 504, no answer)")
	set.DurationVar(&p.pause, "pause", time.Second,
		"`time` before a retry without a Retry-After; up to twice that, at random")
	set.DurationVar(&p.wait, "wait", 0,
		"buy with ?wait=: let the answer wait up to this `time` for the recorded order; 0: without it")
	set.DurationVar(&p.timeout, "timeout", 15*time.Second, "longest `time` for one answer; a longer one is unknown")
	set.IntVar(&p.connections, "connections", 256,
		"`number` of open connections; a buyer waits if all are busy, which counts as latency")
	set.DurationVar(&p.longest, "longest", 0, "longest `time` from the first buyer; then the load stops "+
		"and what was done is verified; 0: until all are finished")
	set.DurationVar(&p.settle, "settle", 30*time.Second,
		"longest `time` after the last answer until all sources must agree")
	set.Uint64Var(&p.seed, "seed", 1, "the same `number` gives the same arrivals")
	set.StringVar(&p.json, "json", "", "`file` for the report as JSON")
	tokenFile := set.String("tokens", "", "`file` of buyers' tokens, one a line, instead of signing them")
	adminFile := set.String("admin-token", "", "`file` with an admin's token, instead of signing one")

	set.SetOutput(io.Discard) // errors are printed below, in other words
	err := set.Parse(env.args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(env.out, about, "\n\nFlags:\n")
		set.SetOutput(env.out)
		set.PrintDefaults()
		return p, err
	}
	if err != nil {
		err = errors.New(cmdline.WrongFlag(set, err))
	} else if set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if err == nil {
		p.tokens, err = readTokens(env.getenv, *tokenFile, *adminFile, p.firstUser)
	}
	if err == nil {
		err = p.tokens.check(&p) // may lower the number of buyers, from which -rate computes the duration
	}
	if err == nil {
		err = p.complete(*servers, *shape, *rate)
	}
	if err == nil && p.json != "" {
		err = p.makeReport()
	}
	if err != nil {
		_, _ = fmt.Fprintf(env.err, "loadgen: %v\nloadgen --help tells more.\n", err)
		return p, errUsage
	}
	return p, nil
}

// makeReport creates the report's file or checks that the existing one is writable, so that a wrong name is found
// before the rush instead of after it.
func (p *plan) makeReport() error {
	file, err := os.OpenFile(p.json, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // a report is public
	if err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	return file.Close()
}

// maxID is the largest user, shop or voucher id: the largest integer that JavaScript represents exactly.
const maxID = 1<<53 - 1

// complete parses the values that package flag cannot parse, and checks all values.
func (p *plan) complete(servers, shape string, rate float64) (err error) {
	for server := range strings.SplitSeq(servers, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil {
			return fmt.Errorf("-url: %w", err)
		}
		if _, err = httpload.New(u, time.Second); err != nil {
			return fmt.Errorf("-url is %q (allowed: addresses such as http://localhost:8080)", server)
		}
		p.servers = append(p.servers, u)
	}
	if rate < 0 || math.IsNaN(rate) || rate > 1e6 {
		return fmt.Errorf("-rate is %v (allowed: up to a million a second)", rate)
	}
	if rate > 0 {
		p.duration = time.Duration(float64(p.buyers) / rate * float64(time.Second))
	}
	for _, c := range []struct {
		name         string
		is, from, to int64
	}{
		{"voucher", p.voucher, 0, maxID},
		{"shop", p.shop, 1, maxID},
		{"stock", p.stock, 1, 1_000_000_000},
		{"buyers", int64(p.buyers), 1, 100_000_000},
		{"first-user", p.firstUser, 1, maxID - int64(p.buyers)},
		{"retry", int64(p.retry), 0, 1000},
		{"connections", int64(p.connections), 1, 60_000},
	} {
		if c.is < c.from || c.is > c.to {
			return fmt.Errorf("-%s is %d (allowed: %d to %d)", c.name, c.is, c.from, c.to)
		}
	}
	for _, c := range []struct {
		name         string
		is, from, to time.Duration
	}{
		{"duration", p.duration, time.Millisecond, 24 * time.Hour},
		{"think", p.think, 0, time.Hour},
		{"pause", p.pause, time.Millisecond, time.Hour},
		{"wait", p.wait, 0, 5 * time.Minute},
		{"timeout", p.timeout, p.wait + time.Millisecond, time.Hour},
		{"settle", p.settle, 0, time.Hour},
		{"longest", p.longest, 0, 48 * time.Hour},
	} {
		if c.is < c.from || c.is > c.to {
			return fmt.Errorf("-%s is %v (allowed: %v to %v)", c.name, c.is, c.from, c.to)
		}
	}
	p.curve, err = newCurve(shape, p.duration)
	return err
}

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/feature/rehearsal"
	"seckill/internal/order"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
	"seckill/internal/words"
)

const rehearseHelp = `server rehearse plays the sale of a voucher before its day: on the running instances and
their stores, with a crowd of loadgen, on a sale of its own that buyers do not see and that is removed
afterwards. It forecasts when the sale will be sold out, how long answers take and what Redis needs, and
says go or no-go.

  server rehearse -voucher 7
  server rehearse -voucher 7 -buyers 200000 -url http://10.0.0.1:8080,http://10.0.0.2:8080

It reads the settings of the instances (SECKILL_*). The crowd is a process of its own, whose command it
prints; its tokens are signed with SECKILL_JWT_SECRET. It takes processor time from what runs beside it: run
it on a machine of its own.

It refuses while a sale runs, or one begins within an hour.

Exit code: 0 for go, 3 for no-go, 1 when it could not be rehearsed.`

const (
	maxBuyers = 1_000_000 // by default; -buyers may ask for more
	// longestLoad is for how long buyers ask: the crowd ends that by itself, also if this process is killed. The rest
	// of its sale's time, rehearsal.MaxLength, is for comparing all answers with all orders: soon after it they are
	// removed, and would be missed.
	longestLoad = 20 * time.Minute
	// crowdOutput is how long the crowd's last lines may take after its end.
	crowdOutput = time.Second
	// reachTimeout is how long all of its addresses may take to answer.
	reachTimeout = 5 * time.Second
	// endTimeout is how long ending the rehearsal may take, also after Ctrl-C.
	endTimeout = 10 * time.Second
)

// crowd is what the command line asks for.
type crowd struct {
	voucher     int64
	buyers      int64
	duration    time.Duration
	url         string
	connections int
	loadgen     string
}

// rehearse is the command rehearse.
func rehearse(ctx context.Context, env environment) error {
	c, err := readCrowd(env)
	if err != nil {
		return err
	}
	w, err := openToolEnv(ctx, env)
	if errors.Is(err, errEmbedded) {
		return fmt.Errorf("%w. docs/rehearsal.md says how loadgen rehearses there", err)
	}
	if err != nil {
		return err
	}
	defer w.close(ctx)
	if err := c.reach(ctx); err != nil {
		return fmt.Errorf("no rehearsal: %w", err)
	}
	rehearsals, author := openRehearsals(w.stores, w.shop), voucher.Author{Request: "rehearse"}
	ends := time.Now().Add(rehearsal.MaxLength) // a little before its sale does
	v, err := rehearsals.Start(ctx, author, c.voucher)
	if err != nil {
		return notRehearsed(c.voucher, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if _, err := rehearsals.End(ctx, author, v.ID); err != nil {
			_, _ = fmt.Fprintf(env.err, "ending the rehearsal, voucher %d: %v; it ends by itself at %s\n",
				v.ID, err, v.Sale.End.UTC().Format(time.TimeOnly+" UTC"))
		}
	}()
	if err := play(ctx, env, c, v.Voucher, ends); err != nil {
		return err
	}
	finding, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout) // also after Ctrl-C
	defer cancel()
	run, err := rehearsals.Find(finding, v.ID)
	switch {
	case err != nil:
		return err
	case !run.Done:
		return errors.New("the crowd could not hand in what it has measured; its output says why")
	}
	return printForecast(env, c.voucher, preflight.Forecast(run.Figures))
}

func readCrowd(env environment) (c crowd, err error) {
	set := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	set.Int64Var(&c.voucher, "voucher", 0, "the `id` of the voucher whose sale is rehearsed (required)")
	set.Int64Var(&c.buyers, "buyers", 0, "`number` of buyers; by default twenty for each unit, at most a million")
	set.DurationVar(&c.duration, "duration", 10*time.Second,
		"`time` within which they arrive, most of them at the start")
	set.StringVar(&c.url, "url", "http://localhost:8080",
		"where the instances are; several `addresses` with commas between them")
	set.IntVar(&c.connections, "connections", 256, "`number` of connections of the crowd")
	set.StringVar(&c.loadgen, "loadgen", "", "the `program` loadgen; by default beside this one, or on the PATH")
	if err := parse(env, set, rehearseHelp); err != nil {
		return c, err
	}
	switch {
	case c.voucher < 1 || c.voucher > voucher.MaxID:
		return c, misuse(set, fmt.Sprintf("-voucher is %d (allowed: 1 to %d)", c.voucher, voucher.MaxID))
	case c.buyers < 0 || c.buyers > 100_000_000:
		return c, misuse(set, fmt.Sprintf("-buyers is %d (allowed: 1 to 100000000)", c.buyers))
	case c.duration < time.Second || c.duration > longestLoad:
		return c, misuse(set, fmt.Sprintf("-duration is %s (allowed: 1s to %s)", c.duration, longestLoad))
	case c.connections < 1 || c.connections > 60_000:
		return c, misuse(set, fmt.Sprintf("-connections is %d (allowed: 1 to 60000)", c.connections))
	}
	for server := range strings.SplitSeq(c.url, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err != nil ||
			u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return c, misuse(set, fmt.Sprintf("-url is %q (allowed: addresses such as http://localhost:8080)", server))
		}
	}
	if c.loadgen, err = findLoadgen(c.loadgen); err != nil {
		return c, misuse(set, err.Error())
	}
	return c, nil
}

// findLoadgen returns where loadgen is: before anything is created, because without it nothing can be rehearsed.
func findLoadgen(given string) (string, error) {
	if given != "" {
		return exec.LookPath(given)
	}
	if self, err := os.Executable(); err == nil {
		if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), "loadgen")); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("loadgen")
	if err != nil {
		return "", errors.New(
			"loadgen is neither beside this program nor on the PATH; make loadgen builds it, -loadgen names it")
	}
	return found, nil
}

// reach asks each address that the crowd will use: before anything is created, because a rehearsal that nobody comes
// to stands in the way of the next one. Any answer will do: what the crowd may ask for there is between it and what
// stands before the instances.
func (c crowd) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	client := http.Client{ // through no proxy, and to nowhere else, like the crowd
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for server := range strings.SplitSeq(c.url, ",") {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			strings.TrimRight(strings.TrimSpace(server), "/")+"/healthz", http.NoBody)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("-url: %w", err)
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
	}
	return nil
}

// notRehearsed says why a rehearsal did not start.
func notRehearsed(id int64, err error) error {
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

// play has the crowd buy, until its sale ends at most. What it measures it reports to the instances.
func play(ctx context.Context, env environment, c crowd, v voucher.Voucher, ends time.Time) error {
	args := c.args(v)
	_, _ = fmt.Fprintf(env.err, "The rehearsal is voucher %d. Its crowd:\n  %s %s\n",
		v.ID, c.loadgen, strings.Join(args, " "))
	err := runCrowd(ctx, env, ends, c.loadgen, args)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return nil // with findings, or because it was told to end: its report says so
	}
	if err != nil {
		return fmt.Errorf("the crowd: %w", err)
	}
	return nil
}

// errUnverified: the crowd was killed, because its sale has ended.
var errUnverified = errors.New(
	"had not compared all answers with all orders when its sale ended; take fewer with -buyers")

// runCrowd runs the crowd, at most until the given time. When ctx ends it is told to: it then verifies what was done
// until then.
func runCrowd(ctx context.Context, env environment, ends time.Time, program string, args []string) error {
	last, cancel := context.WithDeadline(context.WithoutCancel(ctx), ends)
	defer cancel()
	cmd := exec.CommandContext(last, program, args...) //nolint:gosec // the operator's own program
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env.environ, env.out, env.err, crowdOutput
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	err := cmd.Wait()
	if last.Err() != nil {
		return errUnverified
	}
	return err
}

// args is the command line of the crowd.
func (c crowd) args(v voucher.Voucher) []string {
	buyers := cmp.Or(c.buyers, min(20*v.Sale.Issued, maxBuyers))
	return []string{
		"-url", c.url, "-voucher", strconv.FormatInt(v.ID, 10), "-buyers", strconv.FormatInt(buyers, 10),
		"-duration", c.duration.String(), "-longest", longestLoad.String(), "-connections", strconv.Itoa(c.connections),
	}
}

// printForecast prints the forecast for the voucher's sale; errFound for no-go.
func printForecast(env environment, id int64, lines []preflight.Line) error {
	if _, err := fmt.Fprintf(env.out, "\nForecast for the sale of voucher %d\n", id); err != nil {
		return err
	}
	return printList(env, lines, words.English)
}

package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

const (
	maxBuyers = 1_000_000 // by default; -buyers may ask for more
	// crowdOutput is how long the crowd's output may take after the crowd has ended.
	crowdOutput = time.Second
	// reachTimeout is how long all addresses together may take to answer.
	reachTimeout = 5 * time.Second
)

// crowd has the settings, from the command line, of a process of loadgen.
type crowd struct {
	buyers      int64
	duration    time.Duration
	url         string
	connections int
	loadgen     string
}

// findLoadgen returns the path of loadgen. It is called before anything is created, because nothing can be rehearsed
// without loadgen.
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

// reach sends a request to each address that the crowd will use. It is called before anything is created, because a
// rehearsal without a crowd would block the next one. Every status counts as an answer: a proxy in front of the
// instances may refuse this path and still let purchases through.
func (c crowd) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	client := http.Client{ // like the crowd, it uses no proxy and follows no redirect
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

// play runs the crowd until it has finished, or until its sale ends. The crowd reports its figures to the instances.
func (c crowd) play(ctx context.Context, env cmdline.Env, v voucher.Voucher, ends time.Time) error {
	args := c.args(v)
	_, _ = fmt.Fprintf(env.Err, "The rehearsal is voucher %d. Its crowd:\n  %s %s\n",
		v.ID, c.loadgen, strings.Join(args, " "))
	err := runCrowd(ctx, env, ends, c.loadgen, args)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return nil // it has findings, or was interrupted: its report contains that
	}
	if err != nil {
		return fmt.Errorf("the crowd: %w", err)
	}
	return nil
}

// errUnverified is the error for a crowd that was killed because its sale has ended.
var errUnverified = errors.New(
	"had not compared all answers with all orders when its sale ended; take fewer with -buyers")

// runCrowd runs the crowd, at most until the given time. When ctx ends, it sends SIGTERM; the crowd then verifies the
// orders that it has made so far.
func runCrowd(ctx context.Context, env cmdline.Env, ends time.Time, program string, args []string) error {
	last, cancel := context.WithDeadline(context.WithoutCancel(ctx), ends)
	defer cancel()
	cmd := exec.CommandContext(last, program, args...) //nolint:gosec // the operator's own program
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env.Environ, env.Out, env.Err, crowdOutput
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

// args returns the arguments of the crowd.
func (c crowd) args(v voucher.Voucher) []string {
	buyers := cmp.Or(c.buyers, min(20*v.Sale.Issued, maxBuyers))
	return []string{
		"-url", c.url, "-voucher", strconv.FormatInt(v.ID, 10), "-buyers", strconv.FormatInt(buyers, 10),
		"-duration", c.duration.String(), "-longest", longestLoad.String(), "-connections", strconv.Itoa(c.connections),
	}
}

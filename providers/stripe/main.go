// Command seckill-stripe is a payment provider over HTTP (docs/coupons.md) that takes money through Stripe. It has the
// Stripe account's key; the service has only the secret that both sign with. docs/stripe.md shows how to set it up.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"seckill/providers/stripe/internal/bridge"
	"seckill/providers/stripe/internal/check"
	"seckill/providers/stripe/internal/server"
	"seckill/providers/stripe/internal/settings"
	"seckill/providers/stripe/internal/wire"
)

var version = "dev"

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
	exitFound  = 3
)

// errUsage means that the arguments make no sense, which was said.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, check.ErrFound):
		os.Exit(exitFound)
	case errors.Is(err, errUsage):
		os.Exit(exitUsage)
	}
	fmt.Fprintln(os.Stderr, "seckill-stripe: "+strings.ReplaceAll(err.Error(), "\n", "\nseckill-stripe: "))
	os.Exit(exitFailed)
}

func run(ctx context.Context, args []string, getenv func(string) string, out, log io.Writer) error {
	command := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") && command == "serve",
		command == "help":
		return help(out)
	case command == "version":
		_, err := fmt.Fprintln(out, version)
		return err
	case command == "check":
		return runCheck(ctx, args, getenv, out)
	case command == "health":
		return health(ctx, getenv)
	case command != "serve" || len(args) > 0:
		_, _ = fmt.Fprintf(log, "seckill-stripe: it has no command %q; seckill-stripe --help lists them\n",
			strings.Join(append([]string{command}, args...), " "))
		return errUsage
	}
	return serve(ctx, getenv, log)
}

const helpText = `seckill-stripe takes the money for coupons through Stripe: the service asks it to open a checkout, to
end one, and to send money back; it tells the service what Stripe says. It keeps nothing, so any number may run.

  seckill-stripe                                serve: calls of the service at /, Stripe's events at /stripe/
  seckill-stripe check                          is all set up? It makes a checkout and ends it; no money moves
  seckill-stripe check -url https://YOUR-SHOP   and the webhook endpoint; with -create it is made
  seckill-stripe health                         exit code 0 if the one at LISTEN answers
  seckill-stripe version

Settings are environment variables; each may be a file instead (NAME_FILE):

`

const helpMore = `
Begin with an API key in test mode: seckill-stripe check -create -url https://YOUR-SHOP makes the endpoint, and says
what to set. docs/stripe.md goes through all of it.
`

func help(out io.Writer) error {
	const padding = 2
	w := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	_, _ = fmt.Fprint(w, helpText) // Flush returns the error
	for _, s := range settings.All() {
		about := s.About
		if s.Default != "" {
			about += "; " + s.Default + " if it is not set"
		}
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", s.Name, about)
	}
	_, _ = fmt.Fprint(w, helpMore)
	return w.Flush()
}

func runCheck(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	const wait, pause = 30 * time.Second, 2 * time.Second
	set := flag.NewFlagSet("seckill-stripe check", flag.ContinueOnError)
	set.SetOutput(out)
	at := set.String("url", "", "the shop's `address`, as buyers and Stripe reach it")
	currency := set.String("currency", "", "the service's SECKILL_CURRENCY, such as `EUR`; by default the account's")
	create := set.Bool("create", false, "make the webhook endpoint, or add the events that it lacks")
	within := set.Duration("wait", wait, "how long to wait for Stripe's event")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || set.NArg() > 0 {
		return errUsage
	}
	s, err := settings.Read(getenv, settings.Need{})
	if err != nil {
		return err
	}
	o := check.Options{
		Client: bridge.NewClient(s.APIKey, s.APIURL), Live: s.Live(), URL: *at, Currency: *currency, Create: *create,
		Wait: *within, Pause: min(pause, *within/10+1), Out: out, //nolint:mnd // ten looks at least
	}
	if s.ServiceURL != "" && s.Secret != "" {
		if o.Teller, err = wire.NewTeller(s.ServiceURL, s.Secret, time.Now); err != nil {
			return err
		}
	}
	return check.Run(ctx, o)
}

// health asks the one at LISTEN.
func health(ctx context.Context, getenv func(string) string) error {
	const most = 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, port, err := net.SplitHostPort(listenOf(getenv))
	if err != nil {
		return fmt.Errorf("LISTEN: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // nothing of it is read
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", res.Status)
	}
	return nil
}

func listenOf(getenv func(string) string) string {
	s, _ := settings.Read(getenv, settings.Need{}) // what else is wrong, the one that serves has said
	return s.Listen
}

// serve answers calls and webhooks until the context ends, then finishes those that are under way.
func serve(ctx context.Context, getenv func(string) string, to io.Writer) error {
	log := slog.New(slog.NewTextHandler(to, nil))
	s, err := settings.Read(getenv, settings.Need{Webhook: true, Service: true})
	if err != nil {
		return err
	}
	calls, err := wire.NewReader(s.Secret)
	if err != nil {
		return err
	}
	teller, err := wire.NewTeller(s.ServiceURL, s.Secret, time.Now)
	if err != nil {
		return err
	}
	handler := server.New(server.Options{
		Bridge: bridge.New(bridge.NewClient(s.APIKey, s.APIURL), time.Now), Calls: calls, Teller: teller,
		Secrets: s.WebhookSecret, Metrics: server.NewMetrics(version, s.Live()), Log: log,
	}).Handler()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return err
	}
	mode := "test: no money moves"
	if s.Live() {
		mode = "live"
	}
	log.InfoContext(ctx, "serving", "address", listener.Addr().String(), "mode", mode, "version", version)
	return serveUntil(ctx, listener, handler, log)
}

func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	const headers, reading, writing, idle, leaving = 5 * time.Second, 10 * time.Second, 30 * time.Second,
		75 * time.Second, 20 * time.Second
	const maxHeader = 16 << 10
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: headers, ReadTimeout: reading, WriteTimeout: writing, IdleTimeout: idle,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	return web.Shutdown(last)
}

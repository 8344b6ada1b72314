package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

const usage = `Puts any HTTP service that sells one unit to each user beside this one, in turn.

  go run ./test/services -- go run ./bench/beside -url … -route … -tokens … [flags]

The other service runs already, with more stock than the rounds can sell. This one is started
for each round, on the stores that SECKILL_TEST_REDIS_ADDR and SECKILL_TEST_MYSQL_DSN name
(test/services starts both). docs/benchmarks.md has an example.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "beside:", err)
		return 2
	}
	if err = run(ctx, p, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "beside:", err)
		return 1
	}
	return 0
}

// plan is the command line: the other service, and how both are measured.
type plan struct {
	name        string
	url         *url.URL
	method      string
	route       string
	header      string // one line; {token} stands for the user's
	body        string
	tokens      []string
	statuses    []int  // of an acceptance
	accepted    string // what the body of an acceptance contains
	dsn, count  string // where its orders are counted; both or neither
	pids        []int  // its processes on this machine, and those of its stores
	rounds      int
	connections int
	warmUp      time.Duration
	duration    time.Duration
	settle      time.Duration
}

func parse(args []string, stderr io.Writer) (p plan, err error) {
	flags := flag.NewFlagSet("beside", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.StringVar(&p.name, "name", "the other", "what the other service is called in the report")
	address := flags.String("url", "", "where the other service is, http or https; its path is put before -route")
	flags.StringVar(&p.route, "route", "", "the `path` of a purchase")
	flags.StringVar(&p.method, "method", "POST", "the method of a purchase")
	flags.StringVar(&p.header, "header", "Authorization: Bearer {token}", "the `line` of the header that has the token")
	flags.StringVar(&p.body, "body", "", "the body of a purchase, as JSON; {token} stands for the token here, too")
	tokens := flags.String("tokens", "", "a `file` with a token in each line, each of another user who has not bought yet")
	statuses := flags.String("status", "200,201,202", "the status of an acceptance, several separated by commas")
	flags.StringVar(&p.accepted, "accepted", "", "a `text` that the body of an acceptance contains; without it the status tells")
	flags.StringVar(&p.dsn, "dsn", "", "the MySQL `DSN` of its orders")
	flags.StringVar(&p.count, "count", "", "the `query` that counts its orders, one number")
	pids := flags.String("pids", "", "the process ids of the service and its stores, separated by commas: adds their processor time")
	flags.IntVar(&p.rounds, "rounds", 5, "rounds; 5 or more for figures worth quoting")
	flags.IntVar(&p.connections, "connections", 128, "buyers at a time")
	flags.DurationVar(&p.warmUp, "warmup", 500*time.Millisecond, "load before it is measured")
	flags.DurationVar(&p.duration, "duration", 3*time.Second, "measured load of each service in a round")
	flags.DurationVar(&p.settle, "settle", 30*time.Second, "how long rows are waited for after the load, in each round")
	if err = flags.Parse(args); err != nil {
		return p, err
	}
	if flags.NArg() > 0 {
		return p, fmt.Errorf("%q is no flag; all arguments are flags", flags.Arg(0))
	}
	if p.url, err = url.Parse(*address); err != nil || p.url.Host == "" || p.url.Scheme != "http" && p.url.Scheme != "https" {
		return p, fmt.Errorf("-url %q: wanted is an address such as http://127.0.0.1:8081", *address)
	}
	if p.statuses, err = numbers("-status", *statuses, 100, 599); err != nil {
		return p, err
	}
	if p.pids, err = numbers("-pids", *pids, 1, 1<<30); err != nil {
		return p, err
	}
	if p.tokens, err = readTokens(*tokens); err != nil {
		return p, err
	}
	return p, p.check()
}

// check says what of the plan is wrong.
func (p plan) check() error {
	name, value, found := strings.Cut(p.header, ":")
	switch {
	case !strings.HasPrefix(p.route, "/"):
		return fmt.Errorf("-route %q: wanted is a path that begins with /", p.route)
	case strings.ContainsAny(p.route+p.method, " \r\n") || p.method == "":
		return errors.New("-route and -method are one word each")
	case !found || strings.ContainsAny(p.header, "\r\n") || strings.TrimSpace(name) == "" || !strings.Contains(value+p.body, "{token}"):
		return fmt.Errorf("-header %q: wanted is one line such as 'Authorization: Bearer {token}'; {token} stands there or in -body", p.header)
	case (p.dsn == "") != (p.count == ""):
		return errors.New("-dsn and -count go together: where the orders are, and how they are counted")
	case len(p.statuses) == 0:
		return errors.New("-status is empty; wanted is at least one status, such as 200")
	case p.rounds < 1 || p.connections < 1 || p.duration <= 0 || p.warmUp < 0 || p.settle <= 0:
		return errors.New("-rounds, -connections, -duration and -settle are positive, and -warmup is not negative")
	case len(p.tokens) < p.rounds*p.connections:
		return fmt.Errorf("-tokens: there are %d; %d rounds with %d connections need %d at least, and as many as the service answers meanwhile",
			len(p.tokens), p.rounds, p.connections, p.rounds*p.connections)
	}
	if p.dsn != "" {
		if _, err := mysql.ParseDSN(p.dsn); err != nil {
			return fmt.Errorf("-dsn: %w; wanted is user:password@tcp(host:port)/schema", err)
		}
	}
	return nil
}

// numbers reads numbers that commas separate.
func numbers(name, text string, least, most int) (all []int, err error) {
	for one := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(one))
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("%s: %q is not a number from %d to %d", name, one, least, most)
		}
		all = append(all, n)
	}
	return all, nil
}

// readTokens reads a token from each line that is not empty. None may come twice.
func readTokens(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("-tokens is missing: a file with a token in each line")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-tokens: %w", err)
	}
	tokens := strings.Fields(string(text))
	sorted := slices.Sorted(slices.Values(tokens))
	for i := range max(len(sorted)-1, 0) {
		if sorted[i] == sorted[i+1] {
			return nil, fmt.Errorf("-tokens: %.20q… comes twice; each user asks once", sorted[i])
		}
	}
	return tokens, nil
}

package operate

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/currency"
	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/remotepay"
	"seckill/internal/remotepay/try"
)

// callbacks is where the service takes notices; a provider's name follows.
const callbacks = "/payment/callback/"

const paymentHelp = `server payment tries a payment provider over HTTP (docs/coupons.md).

  server payment try URL

server payment <command> --help tells more.`

const tryPaymentHelp = `server payment try plays the service, and asks a payment provider over HTTP for all that the
service will: repeated, late, lost, out of order, twice at once, forged. It needs no store and no settings but
PROVIDER_SECRET, the secret that the provider has. Let the provider send its notices to the -listen
address, as http://127.0.0.1:8099/payment/callback/try, and pay when you are asked to, with a card for tests.

  PROVIDER_SECRET=whsec_… server payment try http://127.0.0.1:9000/
  PROVIDER_SECRET=whsec_… server payment try -pay do=pay http://127.0.0.1:9000/

With -pay, which presses the button of the page itself, it also tries pages that must take no money. It does not try
disputes, refunds that begin at the provider, and payments that fail: send one of each by hand.

It says what it tries, and ends with a table: ok, WRONG, or advice, which is about money that a person has to look for
one day. Exit code: 0 if nothing is wrong; 3 if something is, also if it does not answer; 2 if the command was not
understood; 1 if the -listen address cannot be used.`

// Payment runs the command payment.
func Payment(ctx context.Context, env wiring.Env) error {
	what, rest, err := cmdline.Subcommand(env.Env, "payment", paymentHelp, "try", "help")
	if err == nil && what == "help" {
		_, err = fmt.Fprintln(env.Out, paymentHelp)
		return err
	}
	if err != nil {
		return err
	}
	env.Env = rest
	return tryPayment(ctx, env)
}

// trial are the arguments of server payment try.
type trial struct {
	to            *url.URL
	secret        string
	keys          [][]byte
	listen, press string
	currency      string
	amount        int64
	wait          time.Duration
}

// readTrial reads them. A secret that is set to nothing counts as not set.
func readTrial(env wiring.Env) (trial, error) {
	const wait, amount, least = 10 * time.Minute, 1000, 100
	set := flag.NewFlagSet("payment try", flag.ContinueOnError)
	t := trial{}
	set.StringVar(&t.listen, "listen", "127.0.0.1:8099", "the `address` where notices come")
	set.StringVar(&t.press, "pay", "", "pay by posting this `form` to the page, instead of waiting for a person")
	set.StringVar(&t.currency, "currency", "EUR", "`code` of ISO 4217")
	set.Int64Var(&t.amount, "amount", amount, "of the payment, in the currency's least `unit`")
	set.DurationVar(&t.wait, "wait", wait, "how long to wait for the payment")
	if err := cmdline.ParseFlags(env.Env, set, tryPaymentHelp); err != nil {
		return trial{}, err
	}
	if set.NArg() != 1 {
		return trial{}, cmdline.Misuse(set, "it takes the URL of a provider")
	}
	to, err := url.Parse(set.Arg(0))
	_, known := currency.Digits(t.currency)
	switch {
	case err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return trial{}, cmdline.Misuse(set, fmt.Sprintf("%q is no URL of a provider", set.Arg(0)))
	case !known:
		return trial{}, cmdline.Misuse(set, fmt.Sprintf("-currency is %q", t.currency))
	case t.amount < least:
		return trial{}, cmdline.Misuse(set, fmt.Sprintf("-amount is %d (allowed: %d or more)", t.amount, least))
	}
	t.to = to
	for _, variable := range env.Environ {
		if secret, is := strings.CutPrefix(variable, "PROVIDER_SECRET="); is && secret != "" {
			key, err := signature.Key(secret)
			if err != nil {
				return trial{}, cmdline.Misuse(set, "PROVIDER_SECRET is "+err.Error())
			}
			t.secret, t.keys = secret, [][]byte{key}
		}
	}
	if t.keys == nil {
		return trial{}, cmdline.Misuse(set,
			"PROVIDER_SECRET is not set; make one: echo whsec_$(openssl rand -base64 32)")
	}
	return t, nil
}

func tryPayment(ctx context.Context, env wiring.Env) error {
	t, err := readTrial(env)
	if err != nil {
		return err
	}
	provider, err := remotepay.New(remotepay.Options{
		Name: "try", URL: t.to, Keys: t.keys, UserAgent: "seckill/" + env.Build.Version,
		Metrics: remotepay.NewMetrics(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer provider.Close()
	inbox := try.NewInbox(remotepay.NewNotices("try", t.keys, time.Now).Read)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", t.listen)
	if err != nil {
		return err
	}
	const headers = 5 * time.Second
	paths := http.NewServeMux()
	paths.Handle("POST "+callbacks+"{name}", inbox)
	paths.HandleFunc("/", inbox.NotFound)
	server := &http.Server{Handler: paths, ReadHeaderTimeout: headers}
	go func() { _ = server.Serve(listener) }() // until it is closed
	defer func() { _ = server.Close() }()
	say := func(text string, args ...any) { _, _ = fmt.Fprintf(env.Out, text+"\n", args...) }
	say("notices are taken at http://%s%stry", listener.Addr(), callbacks)
	results := try.Run(ctx, try.Subject{
		Provider: provider, Inbox: inbox, Currency: t.currency, Amount: t.amount, Wait: t.wait, Raw: t.raw(provider),
		Alone: t.press != "",
		Pay: func(ctx context.Context, to service.Checkout) error {
			if t.press != "" {
				return press(ctx, to.URL, t.press)
			}
			say("  pay now, within %s: %s", t.wait, to.URL)
			return nil
		},
	}, func(name string) { say("… %s", name) })
	if err := printTrial(env.Out, results); err != nil {
		return err
	}
	if !try.Passed(results) {
		return cmdline.ErrFound
	}
	return ctx.Err()
}

// raw returns the function that sends tampered calls.
func (t trial) raw(
	to *remotepay.Provider,
) func(context.Context, try.Tampered, payment.Payment) (try.Reply, error) {
	return func(ctx context.Context, how try.Tampered, p payment.Payment) (reply try.Reply, err error) {
		const long = 10 * time.Minute
		of, more := "payment.begin", ""
		keys, at := t.keys, time.Now()
		switch how {
		case try.Right:
		case try.Text:
			keys = [][]byte{[]byte(t.secret), []byte(strings.TrimPrefix(t.secret, "whsec_"))}
		case try.Cancel:
			of = "payment.cancel"
		case try.Forged:
			other, err := signature.Key(signature.NewSecret())
			if err != nil {
				return try.Reply{}, err
			}
			keys = [][]byte{other}
		case try.Old:
			at = at.Add(-long)
		case try.NewType:
			of = "payment.later"
		case try.Members:
			more = `,"later":{"a":[1]}`
		}
		body := fmt.Appendf(nil, `{"type":%q,"timestamp":%q,"data":{"id":%q,"reference":%q,"orderId":"1",`+
			`"shopId":1,"amount":%d,"currency":%q,"quantity":1%s}%s}`,
			of, at.UTC().Format(time.RFC3339), p.ID, p.Reference, t.amount, t.currency, more, more)
		reply.Status, reply.State, err = to.Send(ctx, keys, at, body)
		return reply, err
	}
}

// press posts a form to the page where a buyer pays.
func press(ctx context.Context, page, form string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page, strings.NewReader(form))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func printTrial(to io.Writer, results []try.Result) error {
	const padding = 2
	w := tabwriter.NewWriter(to, 0, 0, padding, ' ', 0)
	_, _ = fmt.Fprintln(w) // Flush returns the error
	for _, r := range results {
		level, says := "ok", ""
		if r.Err != nil {
			level, says = "WRONG", r.Err.Error()
			if r.Advice {
				level = "advice"
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", level, r.Case, r.Took.Round(time.Millisecond), says)
	}
	return w.Flush()
}

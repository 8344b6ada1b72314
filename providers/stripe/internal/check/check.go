// Package check is the command check: it asks Stripe and the service whether all is set up, says what is missing, and
// makes the webhook endpoint if it is asked to.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/bridge"
	"seckill/providers/stripe/internal/server"
	"seckill/providers/stripe/internal/wire"
)

// Options are what is checked.
type Options struct {
	Client   *stripe.Client
	Teller   *wire.Teller // nil: the service is not asked
	Live     bool         // the key moves real money
	URL      string       // of the shop's entry, or of the endpoint itself; "" leaves the endpoint out
	Currency string       // "": the account's
	Create   bool         // make the endpoint, and add events that it lacks
	Wait     time.Duration
	Pause    time.Duration // between two looks at whether an event has arrived
	Out      io.Writer
}

// ErrFound means that something is wrong, which was said.
var ErrFound = errors.New("something is wrong")

// checking is one run.
type checking struct {
	Options

	wrong bool
}

// Run checks all, and returns ErrFound if something is wrong.
func Run(ctx context.Context, o Options) error {
	c := &checking{Options: o}
	if c.account(ctx) {
		c.service(ctx)
		delivers := c.endpoint(ctx)
		c.session(ctx, delivers)
	}
	if c.wrong {
		return ErrFound
	}
	return nil
}

func (c *checking) ok(what, text string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, "ok     %-9s %s\n", what, fmt.Sprintf(text, args...)) // what is missing is seen
}

func (c *checking) fail(what, text string, args ...any) {
	c.wrong = true
	_, _ = fmt.Fprintf(c.Out, "WRONG  %-9s %s\n", what, fmt.Sprintf(text, args...))
}

func (c *checking) advise(what, text string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, "note   %-9s %s\n", what, fmt.Sprintf(text, args...))
}

// account checks the key, its mode, and the account's currency. Without a key nothing else can be checked.
func (c *checking) account(ctx context.Context) bool {
	a, err := c.Client.V1Accounts.Retrieve(ctx, nil)
	if err != nil {
		c.fail("key", "%v", bridge.Explain(err))
		return false
	}
	c.ok("key", "account %s in %s", a.ID, a.Country)
	if c.Live {
		c.ok("mode", "live: real money moves")
	} else {
		c.advise("mode", "test: no money moves, and only test cards pay. For a real sale use the key of live mode")
	}
	if c.Live && !a.ChargesEnabled {
		c.fail("account", "Stripe does not let this account take payments yet: finish its activation in the Dashboard")
	}
	if c.Currency == "" {
		c.Currency = string(a.DefaultCurrency)
	}
	c.Currency = strings.ToUpper(c.Currency)
	c.ok("currency", "%s; the account's own is %s", c.Currency, strings.ToUpper(string(a.DefaultCurrency)))
	return true
}

// service sends a notice of a type that the service ignores, once it has checked its signature.
func (c *checking) service(ctx context.Context) {
	if c.Teller == nil {
		c.advise("service", "not asked: SECKILL_URL or SECKILL_PAYMENT_SECRET is not set")
		return
	}
	err := c.Teller.Tell(ctx, wire.Notice{ID: "check", Type: wire.Check, Data: wire.NoticeData{ID: "check"}})
	no, refused := errors.AsType[*wire.RefusalError](err)
	const unauthorized, missing = 401, 404
	switch {
	case err == nil:
		c.ok("service", "takes notices that are signed with SECKILL_PAYMENT_SECRET")
	case refused && no.Status == unauthorized:
		c.fail("service", "refuses the signature: SECKILL_PAYMENT_SECRET is not the secret in its "+
			"SECKILL_PAYMENT_PROVIDER_SECRETS, or a clock is wrong")
	case refused && no.Status == missing:
		c.fail("service", "knows no provider of this name: SECKILL_URL must end with its name in "+
			"SECKILL_PAYMENT_PROVIDERS")
	default:
		c.fail("service", "SECKILL_URL: %v", err)
	}
}

// address returns the address of the endpoint: that of a shop's entry gets the path.
func address(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%q is no address such as https://shop.example", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = server.WebhookPath
	}
	return u.String(), nil
}

// endpoint checks the webhook endpoint, or makes it. It reports whether events can arrive.
func (c *checking) endpoint(ctx context.Context) bool {
	if c.URL == "" {
		c.advise("endpoint", "not checked: say -url https://YOUR-SHOP")
		return false
	}
	at, err := address(c.URL)
	if err != nil {
		c.fail("endpoint", "-url: %v", err)
		return false
	}
	found, others, err := c.find(ctx, at)
	switch {
	case err != nil:
		c.fail("endpoint", "%v", bridge.Explain(err))
		return false
	case found == nil && c.Create:
		return c.make(ctx, at)
	case found == nil:
		c.fail("endpoint", "none at %s in this mode (there are %d others): run this again with -create, or add it in "+
			"the Dashboard under Developers, Webhooks, with these events: %s",
			at, others, strings.Join(bridge.Events(), " "))
		return false
	}
	if found.Status != "enabled" {
		c.fail("endpoint", "%s is disabled: enable it in the Dashboard; Stripe disables those that fail for days",
			found.ID)
		return false
	}
	if missing := lacks(found.EnabledEvents); len(missing) > 0 && !c.complete(ctx, found, missing) {
		return true
	}
	c.ok("endpoint", "%s at %s has all events", found.ID, at)
	return true
}

func (c *checking) find(ctx context.Context, at string) (found *stripe.WebhookEndpoint, others int, err error) {
	list := &stripe.WebhookEndpointListParams{}
	const most = 100
	list.Limit = stripe.Int64(most)
	c.Client.V1WebhookEndpoints.List(ctx, list)(func(e *stripe.WebhookEndpoint, failed error) bool {
		switch {
		case failed != nil:
			err = failed
		case e.URL == at:
			found = e
		default:
			others++
		}
		return err == nil
	})
	return found, others, err
}

// lacks returns the events that an endpoint should have, and has not.
func lacks(enabled []string) (missing []string) {
	has := map[string]bool{}
	for _, e := range enabled {
		has[e] = true
	}
	for _, e := range bridge.Events() {
		if !has[e] && !has["*"] {
			missing = append(missing, e)
		}
	}
	return missing
}

func (c *checking) make(ctx context.Context, at string) bool {
	e, err := c.Client.V1WebhookEndpoints.Create(ctx, &stripe.WebhookEndpointCreateParams{
		URL: stripe.String(at), APIVersion: stripe.String(stripe.APIVersion),
		EnabledEvents: stripe.StringSlice(bridge.Events()), Description: stripe.String("seckill"),
	})
	if err != nil {
		c.fail("endpoint", "it could not be made: %v", bridge.Explain(err))
		return false
	}
	c.ok("endpoint", "made %s at %s. Stripe shows its secret only now:", e.ID, at)
	_, _ = fmt.Fprintf(c.Out, "\n  STRIPE_WEBHOOK_SECRET=%s\n\n", e.Secret)
	c.advise("endpoint", "set that, start seckill-stripe again, then run this check again")
	return false
}

// complete adds the events that an endpoint lacks, or names them.
func (c *checking) complete(ctx context.Context, e *stripe.WebhookEndpoint, missing []string) bool {
	if !c.Create {
		c.fail("endpoint", "%s lacks events: run this again with -create, or add them in the Dashboard: %s",
			e.ID, strings.Join(missing, " "))
		return false
	}
	_, err := c.Client.V1WebhookEndpoints.Update(ctx, e.ID, &stripe.WebhookEndpointUpdateParams{
		EnabledEvents: stripe.StringSlice(append(e.EnabledEvents, missing...)),
	})
	if err != nil {
		c.fail("endpoint", "its events could not be added: %v", bridge.Explain(err))
		return false
	}
	c.ok("endpoint", "added to %s: %s", e.ID, strings.Join(missing, " "))
	return true
}

package check

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/bridge"
	"seckill/providers/stripe/internal/units"
)

// sessionAmount is enough for Stripe's least amount in any currency, in its units.
const sessionAmount = 50_000

// session makes a Checkout Session that nobody sees, and ends it. If events can arrive it waits until this one has:
// then the endpoint's address and its secret are right.
func (c *checking) session(ctx context.Context, delivers bool) {
	amount, err := units.FromStripe(c.Currency, sessionAmount)
	if err == nil {
		_, err = units.ToStripe(c.Currency, amount)
	}
	if err != nil {
		c.fail("session", "%v", err)
		return
	}
	made, err := c.Client.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode:     stripe.String(stripe.CheckoutSessionModePayment),
		Metadata: map[string]string{bridge.MetaCheck: "yes"}, SuccessURL: stripe.String("https://example.com/"),
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(1), PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: stripe.String(strings.ToLower(c.Currency)), UnitAmount: stripe.Int64(sessionAmount),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: new("A check")},
			},
		}},
	})
	if err != nil {
		c.fail("session", "none could be made in %s: %v", c.Currency, bridge.Explain(err))
		return
	}
	if _, err := c.Client.V1CheckoutSessions.Expire(ctx, made.ID, nil); err != nil {
		c.fail("session", "it could not be ended: %v", bridge.Explain(err))
		return
	}
	c.ok("session", "made and ended in %s", c.Currency)
	if delivers {
		c.delivery(ctx, made.ID)
	}
}

// errWaiting means that an event has not arrived yet.
var errWaiting = errors.New("not delivered")

// delivery waits until the event about a session was answered with 200.
func (c *checking) delivery(ctx context.Context, session string) {
	until := time.Now().Add(c.Wait)
	for {
		err := c.delivered(ctx, session)
		switch {
		case err == nil:
			c.ok("delivery", "Stripe's event has arrived, and was taken")
			return
		case !errors.Is(err, errWaiting):
			c.advise("delivery", "not known: %v", bridge.Explain(err))
			return
		case time.Now().After(until):
			c.fail("delivery", "Stripe's event was not taken within %s. If the log of seckill-stripe says \"refused a "+
				"webhook\", STRIPE_WEBHOOK_SECRET is not this endpoint's signing secret; if it says nothing, the "+
				"endpoint's address does not reach it", c.Wait)
			return
		}
		select {
		case <-time.After(c.Pause):
		case <-ctx.Done():
			return
		}
	}
}

// delivered returns nil once all endpoints have taken the event about a session.
func (c *checking) delivered(ctx context.Context, session string) (err error) {
	list := &stripe.EventListParams{Type: stripe.String(stripe.EventTypeCheckoutSessionExpired)}
	const most = 100
	list.Limit, list.Single = stripe.Int64(most), true
	err = errWaiting
	c.Client.V1Events.List(ctx, list)(func(e *stripe.Event, failed error) bool {
		if failed != nil {
			err = failed
			return false
		}
		if id, _ := e.Data.Object["id"].(string); id == session {
			if e.PendingWebhooks == 0 {
				err = nil
			}
			return false
		}
		return true
	})
	return err
}

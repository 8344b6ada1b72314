package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"

	"seckill/providers/stripe/internal/units"
	"seckill/providers/stripe/internal/wire"
)

const (
	// leastExpiry is Stripe's least time until a session expires, and a minute for the way there.
	leastExpiry = 31 * time.Minute
	mostExpiry  = 24 * time.Hour
	// keysLive is how long Stripe remembers an idempotency key, at least: a session of ours that a key has made is not
	// older when that key is used again.
	keysLive = 25 * time.Hour
)

// Begin opens a Checkout Session, or returns the one that the payment has. Errors: *RefusedError; what Explain takes.
func (b *Bridge) Begin(ctx context.Context, d wire.Data) (wire.Answer, error) {
	if d.ReturnURL == "" {
		return wire.Answer{}, refused("Stripe wants an address to send buyers back to: set SECKILL_PAYMENT_RETURN_URL")
	}
	amount, err := units.ToStripe(d.Currency, d.Amount)
	if err != nil {
		return wire.Answer{}, refused("%v", err)
	}
	s, err := b.open(ctx, d, amount)
	switch {
	case isInvalid(err): // an amount or a currency that Stripe does not take
		return wire.Answer{}, refused("%v", Explain(err))
	case err != nil:
		return wire.Answer{}, err
	case s.Status != stripe.CheckoutSessionStatusOpen && s.Status != "" || s.URL == "":
		return wire.Answer{}, refused("the checkout at Stripe is %s", s.Status)
	}
	return wire.Answer{ID: d.ID, URL: s.URL, Reference: s.ID}, nil
}

// open creates the session. Stripe repeats its first answer to a key, if all else is the same; if not (another
// language, a new title, less time), that is an error, and the session is looked for.
func (b *Bridge) open(ctx context.Context, d wire.Data, amount int64) (*stripe.CheckoutSession, error) {
	create := func(expires bool) (*stripe.CheckoutSession, error) {
		return patient(ctx, func() (*stripe.CheckoutSession, error) {
			return b.stripe.V1CheckoutSessions.Create(ctx, session(d, amount, expires))
		})
	}
	expires := b.canExpire(d.PayBefore)
	s, err := create(expires)
	if isOtherRequest(err) && d.PayBefore != nil { // it may have been asked for while there was more time
		s, err = create(!expires)
	}
	if isOtherRequest(err) {
		s, err = b.find(ctx, d.ID)
	}
	if err != nil || s.LastResponse == nil || s.LastResponse.Header.Get("Idempotent-Replayed") != "true" {
		return s, err
	}
	return patient(ctx, func() (*stripe.CheckoutSession, error) { // a repeated answer says how it was then
		return b.stripe.V1CheckoutSessions.Retrieve(ctx, s.ID, nil)
	})
}

func isOtherRequest(err error) bool {
	e, is := errors.AsType[*stripe.Error](err)
	return is && e.Type == stripe.ErrorTypeIdempotency
}

// canExpire reports whether Stripe can end a session at that time. An earlier end is left to the service, which
// cancels.
func (b *Bridge) canExpire(at *time.Time) bool {
	if at == nil {
		return false
	}
	left := at.Sub(b.now())
	return left >= leastExpiry && left < mostExpiry
}

func session(d wire.Data, amount int64, expires bool) *stripe.CheckoutSessionCreateParams {
	meta := map[string]string{metaPayment: d.ID, metaOrder: d.OrderID, metaShop: fmt.Sprint(d.ShopID)}
	p := &stripe.CheckoutSessionCreateParams{
		Mode:              stripe.String(stripe.CheckoutSessionModePayment),
		ClientReferenceID: stripe.String(d.ID),
		Metadata:          meta,
		SuccessURL:        stripe.String(d.ReturnURL),
		CancelURL:         stripe.String(d.ReturnURL),
		Locale:            stripe.String(locale(d.Language)),
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(1), // the amount is that of all units
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency:    stripe.String(strings.ToLower(d.Currency)),
				UnitAmount:  new(amount),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: new(name(d))},
			},
		}},
		PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{
			Metadata: meta, Description: stripe.String("Order " + d.OrderID),
		},
		// Buyers pay the price in its own currency, whatever the Dashboard's default is, and get that amount back.
		AdaptivePricing: &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: new(false)},
	}
	if expires {
		p.ExpiresAt = new(d.PayBefore.Unix())
	}
	p.SetIdempotencyKey(beginKey(d.ID))
	return p
}

func beginKey(id string) string { return "seckill-" + id }

// name is what the buyer reads on Stripe's page.
func name(d wire.Data) string {
	title := d.Title
	switch {
	case title == "" && strings.HasPrefix(d.Language, "zh"):
		title = "优惠券"
	case title == "":
		title = "Coupon"
	}
	if d.Quantity > 1 {
		title = fmt.Sprintf("%s × %d", title, d.Quantity)
	}
	return title
}

// find returns the open session of a payment.
func (b *Bridge) find(ctx context.Context, id string) (*stripe.CheckoutSession, error) {
	list := &stripe.CheckoutSessionListParams{
		Status:       stripe.String(stripe.CheckoutSessionStatusOpen),
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: b.now().Add(-keysLive).Unix()},
	}
	list.Limit = stripe.Int64(pageSize)
	return patient(ctx, func() (found *stripe.CheckoutSession, err error) {
		b.stripe.V1CheckoutSessions.List(ctx, list)(func(s *stripe.CheckoutSession, e error) bool {
			if err = e; err == nil && s.ClientReferenceID == id {
				found = s
			}
			return err == nil && found == nil
		})
		if err == nil && found == nil {
			err = refused("the checkout of this payment is over at Stripe")
		}
		return found, err
	})
}

// locale returns the locale of Stripe's page for a tag of BCP 47; "auto" leaves it to the buyer's browser.
func locale(tag string) string {
	const known = " bg cs da de el en en-gb es es-419 et fi fil fr fr-ca hr hu id it ja ko lt lv ms mt nb nl pl pt " +
		"pt-br ro ru sk sl sv th tr vi zh zh-hk zh-tw "
	tag = strings.ToLower(tag)
	if strings.HasPrefix(tag, "zh-hant") {
		tag = "zh-tw"
	}
	language, _, _ := strings.Cut(tag, "-")
	for _, t := range []string{tag, language} {
		if t != "" && !strings.Contains(t, " ") && strings.Contains(known, " "+t+" ") {
			base, region, found := strings.Cut(t, "-")
			if found {
				return base + "-" + strings.ToUpper(region)
			}
			return base
		}
	}
	return "auto"
}

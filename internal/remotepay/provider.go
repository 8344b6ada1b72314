package remotepay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/dialguard"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

const (
	// permits is how many calls to one provider may be under way at once in an instance.
	permits = 256
	// permitWait is the most time that a call waits for one of them.
	permitWait = time.Second
	// callTimeout is the most time of one call. It leaves a caller of service.Payments, who has ten seconds, time to be
	// answered.
	callTimeout = 8 * time.Second
)

// Options describe a provider.
type Options struct {
	Name string
	URL  *url.URL
	// Keys are those of its secrets: each of them signs what is sent, and one of them must have signed what comes.
	Keys      [][]byte
	Allowed   []netip.Prefix // networks that may be dialled besides the public Internet, also without TLS
	TLS       *tls.Config    // nil: the system's authorities
	Timeout   time.Duration  // of one call; 0: eight seconds
	UserAgent string
	Metrics   *Metrics
	Log       *slog.Logger
}

// Provider is a service.Provider that is a program of its own. It is safe for concurrent use.
type Provider struct {
	o       Options
	client  *http.Client
	permits *bulkhead.Bulkhead
	health  health
}

var _ service.Provider = (*Provider)(nil)

// ErrUnreachable means that a provider's address can never be dialled.
var ErrUnreachable = errors.New("remotepay: the address can never be dialled")

// New returns a provider, or ErrUnreachable, wrapped. An address that the URL itself names counts as allowed. It calls
// nobody. Close ends its unused connections.
func New(o Options) (*Provider, error) {
	o.Allowed = append(named(o.URL.Hostname()), o.Allowed...)
	guard, secure := dialguard.New(o.Allowed), o.URL.Scheme == "https"
	if err := guard.Never(o.URL.Hostname(), secure); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, o.Name, err)
	}
	if o.Timeout == 0 {
		o.Timeout = callTimeout
	}
	return &Provider{
		o: o, client: guard.Client(secure, o.TLS, nil),
		permits: bulkhead.New(permits, permitWait, bulkhead.Purchase, bulkhead.Background),
	}, nil
}

// named returns the addresses that a URL names itself, without a name that somebody else resolves.
func named(host string) []netip.Prefix {
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap().WithZone("")
		return []netip.Prefix{netip.PrefixFrom(ip, ip.BitLen())}
	}
	if host == "localhost" {
		return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	return nil
}

// Close ends the connections that are not in use.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// Loads returns how many calls are under way.
func (p *Provider) Loads() []bulkhead.Load { return p.permits.Loads() }

// Begin implements service.Provider.
func (p *Provider) Begin(ctx context.Context, b payment.Beginning) (service.Checkout, error) {
	data := beginning{
		ID: b.ID, OrderID: b.OrderID, ShopID: b.ShopID, Amount: b.Amount, Currency: b.Currency, Quantity: b.Quantity,
		Title: b.Title, Language: b.Language, ReturnURL: b.ReturnURL,
	}
	if !b.PayBefore.IsZero() {
		before := b.PayBefore.UTC().Truncate(time.Second) // some languages read no fractions
		data.PayBefore = &before
	}
	a, err := call(ctx, p, bulkhead.Purchase, request[beginning]{
		of: beginCall, id: b.ID, data: data,
		check: func(a answer) error {
			switch {
			case a.ID != "" && a.ID != b.ID:
				return &CallError{Code: OtherID, Detail: a.ID}
			case a.State == stateRefused:
				return &CallError{Code: Refused, Detail: a.Reason}
			case !payable(a.URL, p.o.URL.Scheme == "http"):
				return &CallError{Code: NoURL, Detail: a.URL}
			}
			return checkReference(a.Reference)
		},
	})
	return service.Checkout{URL: a.URL, Reference: a.Reference}, err
}

// Cancel implements service.Provider. A provider that refuses has the money, or expects it: a notice tells.
func (p *Provider) Cancel(ctx context.Context, of payment.Payment) error {
	_, err := call(ctx, p, bulkhead.Background, request[attempt]{
		of: cancelCall, id: of.ID, data: attempt{of.ID, of.Reference},
		check: func(a answer) error {
			switch {
			case a.ID != "" && a.ID != of.ID:
				return &CallError{Code: OtherID, Detail: a.ID}
			case a.State != stateDone && a.State != stateRefused:
				return &CallError{Code: NoState, Detail: a.State}
			}
			return nil
		},
	})
	return err
}

// Refund implements service.Provider.
func (p *Provider) Refund(ctx context.Context, of payment.Payment, r payment.Refund) (payment.Outcome, error) {
	outcome, err := p.aboutRefund(ctx, refundCall, of, r)
	if err == nil && outcome.State == payment.RefundFailed {
		return payment.Outcome{}, &payment.RefusedError{Reason: outcome.Reason}
	}
	return outcome, err
}

// ReadRefund implements service.Provider.
func (p *Provider) ReadRefund(ctx context.Context, of payment.Payment, r payment.Refund) (payment.Outcome, error) {
	return p.aboutRefund(ctx, readCall, of, r)
}

func (p *Provider) aboutRefund(
	ctx context.Context, what string, of payment.Payment, r payment.Refund,
) (payment.Outcome, error) {
	states := map[string]payment.RefundState{
		stateDone: payment.RefundDone, statePending: payment.RefundPending, stateRefused: payment.RefundFailed,
	}
	a, err := call(ctx, p, bulkhead.Background, request[refund]{
		of: what, id: r.ID,
		data: refund{
			RefundID: r.ID, ID: of.ID, Reference: of.Reference, RefundReference: r.Reference, Amount: r.Amount,
		},
		check: func(a answer) error {
			switch {
			case a.RefundID != "" && a.RefundID != r.ID, a.ID != "" && a.ID != of.ID:
				return &CallError{Code: OtherID, Detail: a.ID + a.RefundID}
			case states[a.State] == 0:
				return &CallError{Code: NoState, Detail: a.State}
			}
			return checkReference(a.Reference)
		},
	})
	if err != nil {
		return payment.Outcome{}, err
	}
	return payment.Outcome{State: states[a.State], Reference: a.Reference, Reason: a.Reason}, nil
}

func checkReference(text string) error {
	if payment.CheckReference(text) != nil {
		return &CallError{Code: BadReference, Detail: text}
	}
	return nil
}

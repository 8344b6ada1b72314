package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/prepared"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/partition"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Ledger keeps the payments, the progress of unwinding sales that were called off, and the audit trail:
// parts of *sqlstore.Store. All methods may return order.ErrUnavailable. Lists are newest first.
type Ledger interface {
	PaymentsLedger
	// Unwinding counts the orders of a voucher's sale by fate.
	Unwinding(ctx context.Context, voucherID int64) (order.Unwinding, error)
	// LeftToStaff returns the orders that are left to staff, with an id below before, at most n.
	LeftToStaff(ctx context.Context, voucherID, before int64, n int) ([]order.LeftOrder, error)
	// Entries returns entries of the audit trail that the filter selects, with an id below before, at most limit.
	Entries(ctx context.Context, f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error)
	// Note adds an entry for something that an admin is about to do outside the ledger. The ledger sets its ID and At.
	Note(ctx context.Context, e voucher.Entry) error
}

// PaymentsLedger is the part of Ledger with the payments.
type PaymentsLedger interface {
	// FindPayments returns payments that the filter selects, at most limit. It begins after the payment with the number
	// before; math.MaxInt64 begins with the newest.
	FindPayments(ctx context.Context, f payment.Filter, before int64, limit int) ([]payment.Payment, error)
	// Payment returns one payment. Error: payment.ErrNotFound.
	Payment(ctx context.Context, id string) (payment.Payment, error)
	// RefundsOf returns the refunds of payments, by payment, the oldest first.
	RefundsOf(ctx context.Context, payments []string) (map[string][]payment.Refund, error)
}

// Config says what the routes call. Vouchers, Purchases, InFlight, MaxWait and the embedded Front are required; tests
// leave out what their routes do not call.
type Config struct {
	httpkit.Front

	Vouchers       Vouchers
	Purchases      Purchases
	Listings       Listings
	VoucherChanges VoucherChanges
	Orders         Orders
	Payments       Payments
	Ledger         Ledger
	DeadLetters    DeadLetters
	// Partitions returns all partitions, including removed ones. Away is set for a partition whose Redis does not
	// answer. Error: order.ErrUnavailable.
	Partitions func(ctx context.Context) ([]partition.Contents, error)
	// PaymentsOf returns the payments of any user's order, oldest first. Error: order.ErrUnavailable.
	PaymentsOf func(ctx context.Context, orderID int64) ([]payment.Payment, error)
	// BuyOrdinary sells an ordinary voucher: it records an unpaid order, once for each key. Errors:
	// voucher.ErrNotFound, voucher.ErrOffShelf, order.ErrSeckill, idempotency.ErrReused, idempotency.ErrGone,
	// order.ErrUnavailable. After order.ErrUnknownOutcome, repeating the call with the same key shows the outcome.
	BuyOrdinary func(ctx context.Context, userID, voucherID int64, key idempotency.Key) (order.Order, error)
	// FindVoucher returns a voucher, usually from memory, without its live state. Errors: voucher.ErrNotFound,
	// order.ErrUnavailable.
	FindVoucher func(ctx context.Context, id int64) (voucher.Voucher, error)
	// SaleStats returns a sale's current stats, across all instances. Errors: voucher.ErrNotFound,
	// voucher.ErrNotSeckill, order.ErrUnavailable.
	SaleStats func(ctx context.Context, voucherID int64) (audit.SaleStats, error)
	// LostDecisions returns the decisions about a sale that the ledger has lost and nobody has decided anew, the latest
	// first. Error: order.ErrUnavailable.
	LostDecisions func(ctx context.Context, voucherID int64) ([]voucher.LostDecision, error)
	// Callbacks read the payment providers' callbacks: by the name in POST /payment/callback/:provider, and by "" for
	// POST /payment/callback, which is the default provider's. Without any these routes do not exist.
	Callbacks map[string]CallbackReader
	// DefaultProvider is the name of the provider with the callback "".
	DefaultProvider string
	// Notices counts callbacks that are refused or ignored; required with Callbacks.
	Notices NoticeLog
	// Providers returns the payment providers that are set, the default one first, and those for which refunds wait.
	// Error: order.ErrUnavailable.
	Providers func(ctx context.Context) ([]Provider, error)
	// NoProvider says that no payment provider is configured. A voucher with a price is then created with a warning.
	// With RequireProvider it is refused.
	NoProvider, RequireProvider bool
	// TraceURL is where the logs and traces of the order {order} are shown; "": nowhere.
	TraceURL string
	// CallbackTime is how long the body of a callback may take to arrive; 0: two seconds. Real ones come in one piece.
	CallbackTime time.Duration
	// ReturnURL returns where a buyer goes on after paying for an order, by the request that begins to pay; nil: it is
	// not known.
	ReturnURL func(r *http.Request, orderID int64) string
	// MaxWait is the longest that ?wait= may ask for.
	MaxWait time.Duration
	// InFlight bounds how many requests this instance works on at once. While more than half are in use, no answer
	// waits for ?wait=. A callback takes a permit once its signature is checked.
	InFlight *bulkhead.Bulkhead
}

// API is the routes of the shop. It is safe for concurrent use.
type API struct {
	cfg       Config
	callbacks *bulkhead.Bulkhead // payment callbacks whose body is being read
	languages *httpkit.Languages
	shown     *prepared.Writer
}

// New returns the shop's routes, or an error for a configuration that lacks something. It starts nothing.
func New(cfg Config) (*API, error) {
	if cfg.Vouchers == nil || cfg.Purchases == nil || cfg.Zone == nil || cfg.Streams == nil || cfg.Now == nil ||
		cfg.ShopOf == nil || cfg.InFlight == nil || cfg.MaxWait < 1 {
		return nil, errors.New(
			"shop: Vouchers, Purchases, Zone, Streams, Now, ShopOf, InFlight and MaxWait are required")
	}
	if len(cfg.Callbacks) > 0 && cfg.Notices == nil {
		return nil, errors.New("shop: with Callbacks, Notices is required")
	}
	cfg.CallbackTime = cmp.Or(cfg.CallbackTime, callbackTime)
	cfg.Gatekeeper = cmp.Or[httpkit.Gatekeeper](cfg.Gatekeeper, httpkit.NoGuards{})
	languages, err := httpkit.NewLanguages()
	if err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	return &API{
		cfg: cfg, languages: languages, callbacks: bulkhead.New(maxCallbacks, 0, bulkhead.Purchase),
		shown: prepared.NewWriter(),
	}, nil
}

// Apart returns the bounds of routes whose requests do not count in InFlight.
func (a *API) Apart() []*bulkhead.Bulkhead { return []*bulkhead.Bulkhead{a.callbacks} }

package shoptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/partition"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
	"seckill/internal/voucher/listing"
)

// Shows has v shown under every id.
func Shows(v voucher.Shown) func(*Setup) {
	return func(cfg *Setup) {
		cfg.Vouchers = &FakeVouchers{
			Get:    func(int64) (voucher.Shown, error) { return v, nil },
			OnList: func(int64) ([]voucher.Shown, error) { return []voucher.Shown{v}, nil },
			OnAll: func(voucher.Search) (voucher.Found, error) {
				return voucher.Found{Vouchers: []voucher.Shown{v, v}, Next: v.ID}, nil
			},
		}
	}
}

// Has is a configuration with every order in the state, with everything that can be known of it.
func Has(s order.Status) func(*Setup) {
	o := OrderIn(s)
	if s == order.Failed {
		o.Reason, o.FailedAt = reason.NoStock, Noon
	}
	if s != order.Queued {
		o.CreatedAt, o.PayBefore, o.PaidAt, o.CancelledAt, o.RefundingAt, o.RefundedAt = Noon, Noon,
			Noon, Noon, Noon, RedisNoon
	}
	return func(cfg *Setup) {
		cfg.Purchases = FakePurchases{
			OnOrder: FoundOrder(o),
			OnOrders: func(context.Context, order.Filter, int64, int) ([]order.Order, int64, error) {
				return []order.Order{o, o}, 2, nil
			},
			OnWatch: func(_ context.Context, _, _ int64, yield func(order.Order, bool) error) error {
				return yield(o, true)
			},
		}
		cfg.Orders = FakeOrders{
			OnCancel: func(int64, int64) (order.Order, error) { return o, nil },
			OnOrder:  func(int64) (order.Order, error) { return o, nil },
			OnFind:   func(order.Filter, int64, int) ([]order.Order, error) { return []order.Order{o, o}, nil },
			OnHistory: func(order.Order) ([]order.Event, error) {
				return []order.Event{
					{Status: order.Queued, At: Noon, By: order.Owner},
					{Status: s, At: RedisNoon, By: order.ByRecorder, Why: reason.ReservedUntil(Noon)},
				}, nil
			},
		}
		cfg.Payments = FakePayments{
			OnRefund: func(int64, int64) (order.Order, error) { return o, nil },
		}
		cfg.PaymentsOf = func(context.Context, int64) ([]payment.Payment, error) {
			return append(TwoPayments(), payment.Payment{
				ID: "pay_3", OrderID: OrderID, UserID: 42, VoucherID: 5, ShopID: 2, Amount: 1000,
				State: payment.Refunded, Provider: "bank", CreatedAt: Noon, ReceivedAt: Noon,
				RefundingAt: Noon, RefundedAt: Noon, Flow: payment.Flow{Returned: 1000},
			}), nil
		}
	}
}

// FailingVouchers fails with err in every method.
type FailingVouchers struct{ Err error }

func (f FailingVouchers) CreateOrdinary(context.Context, voucher.Author, voucher.Draft) (voucher.Shown, error) {
	return voucher.Shown{}, f.Err
}

func (f FailingVouchers) CreateSeckill(
	context.Context, voucher.Author, voucher.Draft, voucher.SaleDraft,
) (voucher.Shown, error) {
	return voucher.Shown{}, f.Err
}

func (f FailingVouchers) Find(context.Context, int64) (voucher.Shown, error) {
	return voucher.Shown{}, f.Err
}

func (f FailingVouchers) All(context.Context, voucher.Search) (voucher.Found, error) {
	return voucher.Found{}, f.Err
}

// ErrCoupon is why a feature does not let an owner have the money back now.
var ErrCoupon = errors.New("a till has reserved the coupon")

// CouponRule is that of errCoupon.
func CouponRule() httpkit.Rule {
	return httpkit.Rule{Matches: httpkit.Is(ErrCoupon), Failure: httpkit.Failure{
		Code: "COUPON_RESERVED", Status: http.StatusConflict, Title: "Reserved", Detail: "A till has reserved it.",
		English: "Reserved.", Chinese: "已预留",
	}}
}

// The code of every coupon, and what others see of it.
const (
	WholeCode  = "0A6F-ZXWA-HPRG-DBFQ"
	MaskedCode = "····-····-····-DBFQ"
)

// NoCoupon is that of every order.
func NoCoupon(context.Context, order.Order, bool) (any, error) { return nil, nil }

// WithCoupon has every order in the state, with a coupon.
func WithCoupon(s order.Status) func(*Setup) {
	return func(cfg *Setup) {
		Has(s)(cfg)
		cfg.Members["coupon"] = httpkit.Member{Order: func(_ context.Context, _ order.Order, whole bool) (any, error) {
			return map[string]string{"code": map[bool]string{true: WholeCode, false: MaskedCode}[whole]}, nil
		}}
	}
}

// DeadLetter returns a dead letter as operators see it.
func DeadLetter() recorder.DeadLetter {
	return recorder.DeadLetter{
		ID: "9-0", Entry: "1-0", At: Noon, Why: "order: no number", Fields: map[string]string{"v": "5"},
		Claim: order.Claim{OrderID: OrderID, UserID: 42, VoucherID: 5},
		State: recorder.DeadLetterRecorded, Status: order.Failed,
	}
}

// Gate is a gatekeeper that refuses with an error where it has one, and remembers what it was asked.
type Gate struct {
	OnLimits, OnEnter, OnReserve error
	OnLacks                      string
	Asked                        []string
	Won, ID                      int64
	Outcome                      guards.Outcome
}

func (g *Gate) Limits(_ *gin.Context, who httpkit.Identity, voucherID int64, _ *guards.Settings) error {
	g.Asked = append(g.Asked, fmt.Sprint("limits ", who.UserID, " ", voucherID))
	return g.OnLimits
}

func (g *Gate) Enter(_ *gin.Context, who httpkit.Identity, v voucher.Voucher) error {
	g.Asked = append(g.Asked, fmt.Sprint("enter ", who.UserID, " ", v.ID))
	return g.OnEnter
}

func (g *Gate) Reserve(
	_ *gin.Context, who httpkit.Identity, v voucher.Voucher, units int64,
) (func(guards.Ending), error) {
	g.Asked = append(g.Asked, fmt.Sprint("reserve ", who.UserID, " ", v.ID))
	return func(e guards.Ending) {
		g.ID = e.ID
		if g.Outcome = e.Outcome; e.Outcome == guards.Won {
			g.Won += units
		}
	}, g.OnReserve
}

func (g *Gate) Headers() []string { return []string{"X-Seckill-Ticket", "X-Seckill-Altcha"} }

func (g *Gate) Lacks(guards.Name) (invalid.Reason, invalid.Data) {
	if g.OnLacks == "" {
		return invalid.Reason{}, nil
	}
	return invalid.NeedsSetting, invalid.Data{"setting": g.OnLacks}
}

// Before is an API with the gate before the sale of the voucher 5.
func (g *Gate) Before(cfg *Setup) {
	set := &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}}
	cfg.Gatekeeper = g
	cfg.GuardsOf = func(id int64) *guards.Settings {
		if id == 5 {
			return set
		}
		return nil
	}
	cfg.FindVoucher = func(_ context.Context, id int64) (voucher.Voucher, error) {
		v := SeckillVoucher().Voucher
		v.ID, v.Sale.Guards = id, cfg.GuardsOf(id)
		return v, nil
	}
}

// Press is the request of a purchase.
var Press = Request{Method: http.MethodPost, Target: "/voucher/seckill/5"}

// SnapshotOf shows the vouchers of one snapshot.
type SnapshotOf listing.Snapshot

func (s SnapshotOf) Voucher(context.Context, int64) (listing.Snapshot, error) {
	one := listing.Snapshot(s)
	one.Content = &listing.Content{Vouchers: s.Vouchers[:1]}
	return one, nil
}

func (s SnapshotOf) List(context.Context, int64, int64) (listing.Snapshot, error) {
	return listing.Snapshot(s), nil
}

// VouchersDown returns n vouchers, from the id n down to 1, as one part of the list.
func VouchersDown(n int) SnapshotOf {
	s := SnapshotOf{Content: &listing.Content{Total: int64(n)}, Now: RedisNoon}
	for id := int64(n); id > 0; id-- {
		v := SeckillVoucher()
		v.ID, v.Rules = id, strings.Repeat("one to a person; ", 5)
		s.Vouchers = append(s.Vouchers, v)
	}
	return s
}

// StaleVouchers could not be renewed for a while.
func StaleVouchers() SnapshotOf {
	s := VouchersDown(2)
	s.Stale, s.Age, s.NumbersAge = true, 3500*time.Millisecond, 2500*time.Millisecond
	return s
}

// WithListings has vouchers shown by l.
func WithListings(l shop.Listings) func(*Setup) { return func(cfg *Setup) { cfg.Listings = l } }

// OrderIn returns an order in a state.
func OrderIn(s order.Status) order.Order {
	return order.Order{ID: OrderID, UserID: BuyerID, VoucherID: 5, Status: s, Amount: 1000}
}

// EventsPath is where the events of an order are.
const EventsPath = "/order/660000000123456789/events"

// PartitionsOrError lists one partition in each state, or fails.
func PartitionsOrError(err error) func(context.Context) ([]partition.Contents, error) {
	all := []partition.Contents{
		{Partition: partition.Partition{State: partition.Open}, Sales: 3, Instances: 2, Waiting: partition.Waiting{
			Orders: 4, Oldest: 1500 * time.Millisecond, DeadLetters: 1, Node: "10.0.0.1:6379", At: Noon, Added: 70,
			Processor: 2 * time.Second,
		}},
		{
			Partition: partition.Partition{Number: 1, State: partition.Closed, Since: Noon}, Sales: 1, Instances: 1,
			Missing: []string{"old"}, Waiting: partition.Waiting{At: Noon},
		},
		{Partition: partition.Partition{Number: 2, State: partition.Open, Since: Noon}, Away: order.ErrUnavailable},
		{Partition: partition.Partition{Number: 3, State: partition.Removed, Since: Noon}},
		{Partition: partition.Partition{Number: 4, State: partition.Open, Since: Noon}, Away: fmt.Errorf("%w: %w",
			order.ErrUnavailable, partition.ErrFormat)},
	}
	return func(context.Context) ([]partition.Contents, error) { return all, err }
}

// Busy limits users, but not below what a test needs.
func Busy(cfg *Setup) { cfg.UserRate, cfg.UserBurst = 1_000_000, 100_000_000 }

// GuardedVoucher is the sale's.
func GuardedVoucher() voucher.Voucher {
	v := SeckillVoucher().Voucher
	v.Sale.Guards = &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2, DryRun: true}}
	return v
}

// ShownGuards are what a sale's guards did.
func ShownGuards(_ context.Context, v voucher.Voucher) (any, error) {
	settings, err := json.Marshal(v.Sale.Guards)
	return json.RawMessage(strings.Replace(GuardsTemplate, "SETTINGS", string(settings), 1)), err
}

// GuardsTemplate is what ShownGuards shows, with SETTINGS for the settings.
const GuardsTemplate = `{"settings":SETTINGS,` +
	`"stopped":{"challenge":0,"conditions":0,"coolDown":0,"limits":4,"tickets":0},` +
	`"wouldStop":{"challenge":0,"conditions":0,"coolDown":2,"limits":0,"tickets":0},` +
	`"unitsByAge":{"day":0,"month":0,"older":0,"unknown":0,"week":3,"year":0},` +
	`"stoppedNetworks":[{"network":"192.0.2.0/24","count":6}],"unitNetworks":[]}`

// SaleStats returns the stats of a sale in which something is wrong.
func SaleStats() audit.SaleStats {
	return audit.SaleStats{
		LiveStats: audit.LiveStats{
			View: order.SaleView{
				Mark: order.Mark{Epoch: 2, Sequence: 9}, Stock: 3, Buyers: 7, Now: Noon, Begin: Noon.Add(-time.Hour),
				End: Noon.Add(time.Hour),
			},
			State:   voucher.StateOnSale,
			Answers: gate.Counts{"accepted": 8, "sold_out": 5, "unknown_outcome": 1},
			Waiting: 2, OldestWaiting: 1500 * time.Microsecond, DeadLetters: 1,
		},
		Issued: 10, Recorded: 6, Voucher: GuardedVoucher(),
		Balance: &audit.Balance{
			At: RedisNoon, Finding: audit.RedisWrong, Why: "redis has 4 too many", RedisDifference: 4,
			Ledger: audit.LedgerTotals{Issued: 10, Live: 6}, Redis: audit.Inventory{Stock: 7, Holders: 7},
		},
	}
}

// OrdinaryVoucher returns a voucher without a sale.
func OrdinaryVoucher() voucher.Shown {
	return voucher.Shown{Voucher: voucher.Voucher{
		ID: 1, ShopID: 2, Title: "a <b>", ActualValue: 100, PayWithin: time.Minute, Status: voucher.OnShelf,
		CreatedAt: Noon, UpdatedAt: Noon,
	}}
}

// SeckillVoucher returns a voucher with a sale.
func SeckillVoucher() voucher.Shown {
	zone := time.FixedZone("x", 3600)
	return voucher.Shown{
		Voucher: voucher.Voucher{
			ID: voucher.MaxID, ShopID: 2, Title: "券", SubTitle: "s", Rules: "r", PayValue: 1000, ActualValue: 10000,
			PayWithin: voucher.DefaultPayWithin, Kind: voucher.Seckill, Status: voucher.OnShelf,
			CreatedAt: Noon.In(zone), UpdatedAt: Noon, Sale: &voucher.Sale{
				Stock: 5, Issued: 10, Begin: Noon.In(zone), End: Noon.Add(time.Hour + 500*time.Millisecond),
			},
		},
		Live: &voucher.Live{State: voucher.StateOnSale, Stock: 3},
	}
}

// GoodBody is what a seckill voucher is created from, field by field as raw JSON.
func GoodBody() map[string]string {
	return map[string]string{
		"shopId": "1", "title": `"100 for 10"`, "subTitle": `"tonight"`, "rules": `"one each"`,
		"payValue": "1000", "actualValue": "10000",
		"stock": "5000", "beginTime": `"2026-01-02T20:00:00.000Z"`, "endTime": `"2026-01-02T23:00:00+01:00"`,
	}
}

// Object returns a JSON object of the fields, whose values are JSON.
func Object(fields map[string]string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		members = append(members, fmt.Sprintf("%q:%s", name, fields[name]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Create posts a body as an admin and returns the answer and what was created.
func Create(tb testing.TB, target, body string, change ...func(*Setup)) (Response, int, []voucher.Voucher) {
	tb.Helper()
	kept := &FakeVouchers{}
	a := NewAPI(tb, append(change, func(cfg *Setup) { cfg.Vouchers = kept })...)
	w := AsAdmin(tb, a, Request{Method: http.MethodPost, Target: target, Body: body})
	if w.Code == http.StatusCreated {
		return Read(tb, w), w.Code, kept.Stored()
	}
	return WantProblem(tb, w, w.Code, Read(tb, w).Code), w.Code, kept.Stored()
}

package dispatch

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/contract"
	"seckill/internal/voucher"
)

// The webhook-id names an event, and nothing else does.
func TestEventIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]EventID{
		"order-660000000123456789-2": {Subject: order.SubjectOfOrder(660000000123456789), Number: 2},
		"place-7-12-1": {
			Subject: order.SubjectOfPlace(order.PlaceID{VoucherID: 7, Position: 12}), Number: 1,
		},
		"sale-7-3": {Subject: order.SubjectOfSale(7), Number: 3},
	} {
		if got, err := ParseEventID(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "-", "order", "order-1", "order--1-1", "order-0-1", "order-1-0", "order-01-1", "order-1-1-1", "place-7-1",
		"place-7-12-0", "place-7-12-01", "place--7-12-1", "place-0-12-1", "place-07-12-1", "test-7", "place-7-12-1-1",
		"x", "sale-7", "sale-7--3", "order-1-+2",
	} {
		if got, err := ParseEventID(text); err == nil || !strings.Contains(err.Error(), "webhook-id") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// The body of an event names its version, its subject and its number, whatever it is about, and has the names of the
// API.
func TestBodies(t *testing.T) {
	t.Parallel()
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := described.Names()
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1, 0)
	parent := trace.Parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	for name, c := range map[string]struct {
		event func() (Event, error)
		want  string
	}{
		"a place": {
			func() (Event, error) {
				return EventOfTurn(order.Turn{
					ID: order.PlaceID{VoucherID: 7, Position: 12}, UserID: 1, OrderID: 9007199254740993,
					Kind: order.TurnInvited, Number: 1, Joined: at, Invited: at, Deadline: at.Add(30 * time.Second),
					At: at,
				}, 2, "")
			},
			`place-7-12-1 {"version":1,"type":"waitlist.invited","timestamp":"1970-01-01T00:00:01.000Z",` +
				`"subject":{"kind":"place","id":"7-12"},"number":1,"data":{"shopId":2,"voucherId":7,"userId":1,` +
				`"orderId":"9007199254740993","joinTime":"1970-01-01T00:00:01.000Z",` +
				`"inviteTime":"1970-01-01T00:00:01.000Z",` +
				`"acceptBefore":"1970-01-01T00:00:31.000Z"}}`,
		},
		"a list": {
			func() (Event, error) {
				return EventOfTurn(order.Turn{
					ID: order.PlaceID{VoucherID: 7}, Kind: order.TurnReleased, Number: 9, Units: 3, At: at,
				}, 2, "")
			},
			`sale-7-9 {"version":1,"type":"waitlist.released","timestamp":"1970-01-01T00:00:01.000Z",` +
				`"subject":{"kind":"sale","id":"7"},"number":9,"data":{"shopId":2,"voucherId":7,"units":3}}`,
		},
		"a sale": {
			func() (Event, error) {
				return EventOfSale(voucher.Voucher{
					ID: 7, ShopID: 2, Title: "Tea", PayValue: 1000, ActualValue: 10000, Status: voucher.OnShelf,
					Sale: &voucher.Sale{CalledOff: at, Begin: at, End: at, Issued: 50},
				}, "CNY", SaleCalledOff, 10, at, "")
			},
			`sale-7-10 {"version":1,"type":"sale.called_off","timestamp":"1970-01-01T00:00:01.000Z",` +
				`"subject":{"kind":"sale","id":"7"},"number":10,"data":{"voucherId":7,"shopId":2,` +
				`"callOffTime":"1970-01-01T00:00:01.000Z","endTime":"1970-01-01T00:00:01.000Z","issued":50,` +
				`"beginTime":"1970-01-01T00:00:01.000Z","title":"Tea","payValue":1000,"actualValue":10000,` +
				`"currency":"CNY"}}`,
		},
		"an order": {
			func() (Event, error) {
				return EventOf(order.Change{
					Order: order.Order{
						ID: 9007199254740993, UserID: 1, VoucherID: 7, Amount: 1000,
						Status: order.Unpaid, CreatedAt: at,
					},
					Terms: order.Terms{ShopID: 2, Currency: "CNY"}, Recorded: true, At: at,
				}, nil, parent)
			},
			`order-9007199254740993-1 {"version":1,"type":"order.unpaid","timestamp":"1970-01-01T00:00:01.000Z",` +
				`"subject":{"kind":"order","id":"9007199254740993"},"number":1,` +
				`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",` +
				`"data":{"id":"9007199254740993",` +
				`"shopId":2,"voucherId":7,"userId":1,"quantity":1,"amount":1000,"currency":"CNY","status":"unpaid",` +
				`"createTime":"1970-01-01T00:00:01.000Z"}}`,
		},
		"a payment": {
			func() (Event, error) {
				return EventOfPayment(order.PaymentChange{
					Order: order.Order{ID: 9007199254740993, Status: order.Refunded},
					Payment: payment.Payment{
						ID: "pay_6f1c", OrderID: 9007199254740993, UserID: 1, VoucherID: 7, Amount: 1000,
						State: payment.Refunded, Provider: "bank", Reference: "chg_9",
						Flow:      payment.Flow{Returned: 1000},
						CreatedAt: at, ReceivedAt: at, RefundingAt: at, RefundedAt: at,
					},
					Terms: order.Terms{ShopID: 2, Currency: "CNY"}, News: payment.NewsReturned, At: at,
				}, nil, "")
			},
			`order-9007199254740993-1 {"version":1,"type":"payment.returned","timestamp":"1970-01-01T00:00:01.000Z",` +
				`"subject":{"kind":"order","id":"9007199254740993"},"number":1,"data":{"id":"pay_6f1c",` +
				`"orderId":"9007199254740993","shopId":2,"voucherId":7,"userId":1,"amount":1000,"currency":"CNY",` +
				`"state":"refunded","provider":"bank","reference":"chg_9","receivedAmount":1000,` +
				`"returnedAmount":1000,"keptAmount":0,"refundedAmount":1000,"lostAmount":0,"dispute":"none",` +
				`"createTime":"1970-01-01T00:00:01.000Z",` +
				`"receiveTime":"1970-01-01T00:00:01.000Z","refundingTime":"1970-01-01T00:00:01.000Z",` +
				`"refundTime":"1970-01-01T00:00:01.000Z"}}`,
		},
	} {
		e, err := c.event()
		if got := e.ID() + " " + string(e.Body); err != nil || got != c.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, c.want)
		}
		if err := names.CheckJSON(e.Body, "version", "timestamp", "traceparent"); err != nil {
			t.Errorf("%s has other names than the API: %v", name, err)
		}
	}
}

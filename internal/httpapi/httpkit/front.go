package httpkit

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// Front is what the interface gives to routes.
type Front struct {
	Bodies  Bodies
	Streams *Streams
	Now     func() time.Time
	// Address returns the client's address, also behind trusted proxies, or the zero address if it cannot be read.
	Address  func(r *http.Request) netip.Addr
	Zone     *time.Location // the zone of times that do not name one
	Currency string         // of all amounts, a code of ISO 4217
	// PictureHosts are the hosts on which pictures of shops and vouchers may be.
	PictureHosts []string
	// ShopOf returns the shop of a voucher, from memory as a rule. Errors: voucher.ErrNotFound, order.ErrUnavailable.
	ShopOf func(ctx context.Context, voucherID int64) (int64, error)
	// Order returns anybody's order, also a queued one. Errors: order.ErrNotFound, order.ErrUnavailable.
	Order func(ctx context.Context, id int64) (order.Order, error)
	// Orders answers with recorded orders as GET /admin/order does: those that the filter selects, with an id below
	// before, newest first, at most n. Error: order.ErrUnavailable.
	Orders func(ctx context.Context, f order.Filter, before int64, n int) (Envelope, error)
	// Members are those of all features, once all are opened. Gatekeeper runs the guards of sales; a feature's Front
	// has it if it is opened after the guards.
	Members    Members
	Gatekeeper Gatekeeper
}

// Picture returns the kind of field that holds the address of a picture; see jsonbody.Picture.
func (f Front) Picture(elsewhere **invalid.Problem) func(name string, into *string) jsonbody.Field {
	return func(name string, into *string) jsonbody.Field {
		return jsonbody.Picture(name, into, f.PictureHosts, elsewhere)
	}
}

package httpkit

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/kit/bulkhead"
)

// Format is how a route writes its errors.
type Format int8

// The formats of errors.
const (
	ProblemDocument Format = iota // RFC 9457, with the error's own status
	PlainEnvelope                 // the tutorial's: business refusals are 200

	// Formats is how many there are.
	Formats = iota
)

// Handler does the work of one route. It never writes, except for streams; serve writes what it returns.
type Handler func(c *gin.Context, who Identity) (Answer, error)

// Route is one row of the routing table.
type Route struct {
	Method, Path string
	Class        bulkhead.Class // whose permits it takes, in flight and of the stores (httpapi's classOf); 0: none
	Access       Access
	Owner        Owner // of routes for merchants
	Format       Format
	Query        []string // the names that its query may have
	Body         bool     // its handler reads a body, by [Bodies]
	OwnLimit     bool     // its handler refuses bodies that are too large for it by itself
	Foreign      bool     // programs that were not written for this service call it: what it does not know is ignored
	QueryToken   bool     // the token may stand in the query: for browsers' EventSource, which sends no headers
	Sells        bool     // it buys in the sale in its path: refusals are told (Refused)
	Limited      bool     // the limits of the sale in its path hold
	Uncounted    bool     // not among the requests in flight: it uses no store, or has a bound of its own
	Recognizes   bool     // it is for all, and shows some callers more: a valid token says who calls, any other nobody
	Keyed        bool     // it makes something, once for each Idempotency-Key: Author and KeyOf have it
	Handle       Handler
	// Again answers a keyed request that has been done before; nil: Handle answers it.
	Again Again
}

// Again answers a request whose Idempotency-Key an earlier one has used. It shows what the earlier request made, by its
// id, as it is now and without secrets. It returns idempotency.ErrGone if that no longer exists.
type Again func(c *gin.Context, who Identity, made string) (Answer, error)

// Strict reports whether a request with a name that the route does not know, in its query or body, is refused: a
// misspelled name would buy, change or select something else than the caller meant. Public reads ignore such names,
// because proxies and trackers add some.
func (r *Route) Strict() bool {
	switch {
	case r.Foreign, r.Method == "": // the latter answers 404 and 405
		return false
	default:
		return r.Method != http.MethodGet || r.Access != ForAll
	}
}

// Option changes a route that one of the functions below returns.
type Option func(*Route)

// Limited holds callers to the limits of the sale in the path.
func Limited(r *Route) { r.Limited = true }

// Sells is for a route that buys in the sale in its path.
func Sells(r *Route) { r.Sells = true }

// Refused is told of a request to buy in a sale that was refused, after its answer was written: who asked, and with
// which code they were refused. It must not block.
type Refused func(r *http.Request, who Identity, voucherID int64, code string)

// Uncounted leaves a route out of the requests in flight: it uses no store, or has a bound of its own.
func Uncounted(r *Route) { r.Uncounted = true }

// TokenName is the name of a token that stands in the query.
const TokenName = "access_token"

// QueryToken lets the token stand in the query.
func QueryToken(r *Route) { r.QueryToken, r.Query = true, append(r.Query, TokenName) }

// Plain writes errors as the tutorial does, for its frontend.
func Plain(r *Route) { r.Format, r.Foreign = PlainEnvelope, true }

// Recognizes makes a route for all look at a token that comes with the request.
func Recognizes(r *Route) { r.Recognizes = true }

// Keyed does the route's act once for each Idempotency-Key; again may be nil.
func Keyed(again Again) Option {
	return func(r *Route) { r.Keyed, r.Again = true, again }
}

// KeyedByID is Keyed for a route that makes something with a number, which again is given.
func KeyedByID(again func(c *gin.Context, who Identity, id int64) (Answer, error)) Option {
	return Keyed(func(c *gin.Context, who Identity, made string) (Answer, error) {
		id, err := strconv.ParseInt(made, 10, 64)
		if err != nil {
			return Answer{}, fmt.Errorf("what an idempotency key has made: %w", err)
		}
		return again(c, who, id)
	})
}

// Body is for a route whose handler reads a body.
func Body(r *Route) { r.Body = true }

// Query returns the option with the names that the route's query may have.
func Query(names ...string) Option { return func(r *Route) { r.Query = append(r.Query, names...) } }

// Public is a route for everybody. The pattern, here and below, is a method and a path: "GET /order/:id".
func Public(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.PublicRead, ForAll, h, options)
}

// Callback is a route for other programs, which sign their requests. It has a limit of its own.
func Callback(pattern string, h Handler) Route {
	return newRoute(pattern, bulkhead.Purchase, ForAll, h, []Option{Uncounted, Body, ownLimit, foreign})
}

func ownLimit(r *Route) { r.OwnLimit = true }

func foreign(r *Route) { r.Foreign = true }

// SignIn is a public route that signs users in. It has a limit of its own.
func SignIn(pattern string, h Handler) Route {
	return newRoute(pattern, bulkhead.OwnRead, ForAll, h, []Option{Uncounted, Body})
}

// Buying is a route for buyers that buys, or changes an order.
func Buying(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.Purchase, ForBuyers, h, options)
}

// Owning is a buyer's read of their own data; it yields to purchases.
func Owning(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.OwnRead, ForBuyers, h, options)
}

// Signed is a route on which users of every role read or change their own data.
func Signed(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.OwnRead, ForUsers, h, options)
}

// Till is a route for tills.
func Till(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.Purchase, ForTills, h, options)
}

// Crowd is a route for the crowd of the rehearsal in the path.
func Crowd(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.OwnRead, ForCrowds, h, options)
}

// Admin is a route for admins.
func Admin(pattern string, h Handler, options ...Option) Route {
	return newRoute(pattern, bulkhead.Admin, ForAdmins, h, options)
}

// Staff is a route for admins, and for merchants where the owner lets them.
func Staff(pattern string, h Handler, owner Owner, options ...Option) Route {
	r := newRoute(pattern, bulkhead.Admin, ForMerchants, h, options)
	r.Owner = owner
	return r
}

func newRoute(pattern string, class bulkhead.Class, access Access, h Handler, options []Option) Route {
	method, path, _ := strings.Cut(pattern, " ")
	r := Route{Method: method, Path: path, Class: class, Access: access, Handle: h}
	for _, change := range options {
		change(&r)
	}
	return r
}

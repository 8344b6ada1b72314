package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/idempotency"
	"seckill/internal/voucher"
)

// serve adapts a route to Gin: the only place where requests are authenticated, answers written, and requests logged
// and counted.
func (a *API) serve(r httpkit.Route) gin.HandlerFunc {
	r.Handle = a.handlerOf(r)
	return func(c *gin.Context) {
		began := a.cfg.Now()
		id := requestID(c.Request)
		h := c.Writer.Header()
		h["X-Request-Id"] = []string{id}
		h["X-Content-Type-Options"] = a.headers.nosniff
		h["Cache-Control"] = a.headers.noStore // answers have live stock, people's orders, and results of purchases
		if a.declaresTooMuch(&r, c.Request) {
			h["Connection"] = a.headers.closing // whatever the answer is: the body stays unread
		}
		a.cfg.Addresses.Note(c.Request)
		followed := a.cfg.Traces && a.follow(c)
		who, ans, err := a.run(&r, c, began)
		res := a.write(c, r.Format, ans, err)
		if r.Sells && res.code != "" && a.cfg.Refused != nil && who.UserID != 0 {
			a.tellRefused(c, who, res.code)
		}
		a.record(c, event{
			id: id, route: r.Path, user: who.UserID, followed: followed, made: ans.Location,
			status: res.status, code: res.code, err: res.err, took: a.cfg.Now().Sub(began),
		})
	}
}

// tellRefused passes on that a request to buy in a sale was refused.
func (a *API) tellRefused(c *gin.Context, who httpkit.Identity, code string) {
	if id, bad := param.ID("id", c.Param("id"), voucher.MaxID); bad == nil {
		a.cfg.Refused(c.Request, who, id, code)
	}
}

// panicError is a handler's panic as an error. The stack goes to the log and nowhere else.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// catchPanic makes a panic of the function that defers it that function's error.
func catchPanic(ans *httpkit.Answer, err *error) {
	if p := recover(); p != nil {
		*ans, *err = httpkit.Answer{}, &panicError{value: p, stack: debug.Stack()}
	}
}

// declaresTooMuch reports whether a request declares a body beyond the limit, on a route without one of its own. Such
// a body is not read, and the connection is closed after the answer; by default net/http would first wait for up to
// 256 KiB, which may never come.
// A body of undeclared length is cut off while it is read (httpkit.Bodies.Read), or by net/http where nobody reads it.
func (a *API) declaresTooMuch(r *httpkit.Route, req *http.Request) bool {
	return !r.OwnLimit && req.ContentLength > a.cfg.BodyLimit
}

// run refuses requests beyond the bound, authenticates the caller, refuses bodies that are too large and names that
// the route does not know, and lets the handler work. A panic becomes an error, and is answered as one. A body is read
// before the request counts as in flight, and the answer is written after it, so that slow callers do not count.
//
// The limits of a sale come after the token: only a valid token spends them, so a stranger cannot spend those of others
// behind the same address.
func (a *API) run(
	r *httpkit.Route, c *gin.Context, began time.Time,
) (who httpkit.Identity, ans httpkit.Answer, err error) {
	defer catchPanic(&ans, &err)
	tokenFirst := a.looksAtTokenFirst(r, c, began)
	if tokenFirst {
		if who, err = a.checkRequest(r, c, began); err != nil {
			return who, httpkit.Answer{}, err
		}
	}
	if !r.Uncounted {
		permit, ok := a.cfg.InFlight.Try(classOf(r, who))
		if !ok {
			return httpkit.Identity{}, httpkit.Answer{}, httpkit.ErrOverloaded
		}
		defer permit.Release()
	}
	if !tokenFirst {
		if who, err = a.checkRequest(r, c, began); err != nil {
			return who, httpkit.Answer{}, err
		}
	}
	if err := a.checkLimits(r, c, who); err != nil {
		return who, httpkit.Answer{}, err
	}
	ans, err = r.Handle(c, who)
	return who, ans, err
}

// handlerOf returns the route's handler with what comes before it on some routes: the class of its calls to stores
// (their default class is Purchase), the owner's consent, and the answer to a request that has been done before.
func (a *API) handlerOf(r httpkit.Route) httpkit.Handler {
	handle := r.Handle
	if r.Again != nil {
		handle = a.once(handle, r.Again)
	}
	if r.Owner != nil {
		handle = ifOwned(handle, r.Owner)
	}
	if r.Class != bulkhead.Unnamed && r.Class != bulkhead.Purchase {
		handle = inClass(handle, r)
	}
	return handle
}

// inClass returns a handler that calls the stores in the class of the request.
func inClass(handle httpkit.Handler, r httpkit.Route) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		c.Request = c.Request.WithContext(bulkhead.With(c.Request.Context(), classOf(&r, who)))
		return handle(c, who)
	}
}

// classOf returns whose permits a request takes, in flight and of the stores: its route's class, but what merchants
// read counts as buyers' reads do. They are many, and their lists must not take what a running sale needs.
func classOf(r *httpkit.Route, who httpkit.Identity) bulkhead.Class {
	if r.Method == http.MethodGet && r.Class == bulkhead.Admin && who.Only() != 0 {
		return bulkhead.OwnRead
	}
	return r.Class
}

// ifOwned returns a handler for callers who act in one shop alone, if the owner lets them.
func ifOwned(handle httpkit.Handler, owner httpkit.Owner) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		if shop := who.Only(); shop != 0 {
			if err := owner(c, shop); err != nil {
				return httpkit.Answer{}, err
			}
		}
		return handle(c, who)
	}
}

// once returns a handler that calls handle, unless the request repeats one that has been done. It checks that first,
// because handle may now refuse what it accepted the first time: the sale has begun, or the rehearsal runs.
func (a *API) once(handle httpkit.Handler, again httpkit.Again) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (ans httpkit.Answer, err error) {
		if k := httpkit.KeyOf(c); k.Given() {
			err = a.cfg.FindKey(c.Request.Context(), k)
		}
		if err == nil {
			ans, err = handle(c, who)
		}
		if before, done := errors.AsType[*idempotency.RepeatedError](err); done {
			return again(c, who, before.Made)
		}
		return ans, err
	}
}

// looksAtTokenFirst reports whether the token is checked before a permit is taken, so that strangers cannot take
// permits from others. That is so on routes for admins, who must be able to pause a sale in a rush; for requests with a
// body, which is not read for strangers; and for an address that has sent too many bad tokens.
func (a *API) looksAtTokenFirst(r *httpkit.Route, c *gin.Context, now time.Time) bool {
	return r.Class == bulkhead.Admin || sendsBody(r, c.Request) ||
		r.Access != httpkit.ForAll && a.comesWithBadTokens(c, now)
}

// checkRequest returns the caller, or the error of a caller who may not use the route or of a request with names that
// the route does not know. It uses no store.
func (a *API) checkRequest(r *httpkit.Route, c *gin.Context, now time.Time) (httpkit.Identity, error) {
	who, err := a.authorize(r, c, now)
	if err == nil && (c.Request.ContentLength != 0 || c.Request.URL.RawQuery != "") {
		err = a.strict(r, c)
	}
	if err == nil && r.Keyed {
		err = a.readKey(r, c, who)
	}
	return who, err
}

// comesWithBadTokens reports whether an address has spent its budget of requests with a missing or invalid token.
func (a *API) comesWithBadTokens(c *gin.Context, now time.Time) bool {
	return a.failed.any(now) && a.failed.spent(a.cfg.Addresses.Of(c.Request), now)
}

// authorize returns the caller if the route needs to know them, or why they may not use it. It uses no store.
func (a *API) authorize(r *httpkit.Route, c *gin.Context, now time.Time) (httpkit.Identity, error) {
	req := c.Request
	if r.Access == httpkit.ForAll {
		return a.recognize(r, req, now), nil
	}
	who, err := a.auth.identify(req.Header, now)
	if r.QueryToken && errors.Is(err, errNoToken) {
		who, err = a.auth.identifyQuery(req, now)
	}
	switch {
	case err != nil:
		a.failed.add(a.cfg.Addresses.Of(req), now)
		return httpkit.Identity{}, err
	case !r.Access.Admits(who):
		return who, refusalOf(r.Access)
	case who.Admin(), r.Access == httpkit.ForCrowds:
		return who, nil
	case !a.users.allow(who.UserID, now):
		return who, errRateLimited
	}
	return who, nil
}

// recognize returns the caller of a route for all, if it wants to know them. Without a valid token they are nobody.
func (a *API) recognize(r *httpkit.Route, req *http.Request, now time.Time) (who httpkit.Identity) {
	if r.Recognizes {
		who, _ = a.auth.identify(req.Header, now)
	}
	return who
}

// refusalOf returns the error for a caller whose role has no access.
func refusalOf(access httpkit.Access) error {
	switch access {
	case httpkit.ForTills:
		return errNotTill
	case httpkit.ForBuyers:
		return errNotBuyer
	case httpkit.ForMerchants:
		return errNotMerchant
	default:
		return httpkit.ErrForbidden
	}
}

// checkLimits refuses a caller who exceeds the request limits of the sale in the path, on routes to which they apply.
// They do not apply to admins. For a sale without guards, or one that is not in memory, it costs a map lookup and no
// query.
func (a *API) checkLimits(r *httpkit.Route, c *gin.Context, who httpkit.Identity) error {
	if !r.Limited || who.Admin() {
		return nil
	}
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if bad != nil {
		return nil // the handler says so
	}
	set := a.cfg.GuardsOf(id)
	if set == nil {
		return nil
	}
	return a.cfg.Gatekeeper.Limits(c, who, id, set)
}

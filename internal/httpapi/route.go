package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/bulkhead"
)

// access is who may call a route.
type access int8

const (
	forAll access = iota
	forBuyers
	forAdmins
	forTills
	forCrowds // of the rehearsal in the path; the handler looks at which
)

// errorFormat is how a route writes its errors.
type errorFormat int8

const (
	problemDocument errorFormat = iota // RFC 9457, with the error's own status
	plainEnvelope                      // the tutorial's: business refusals are 200
)

// handler does the work of one route. It never writes, except for streams; serve writes what it returns.
type handler func(c *gin.Context, who identity) (answer, error)

// route is one row of the routing table.
type route struct {
	method, path string
	class        bulkhead.Class // whose permits it takes, in flight and of the stores; 0: it uses no store
	access       access
	format       errorFormat
	queryToken   bool // the token may stand in the query: for browsers' EventSource, which sends no headers
	limited      bool // the limits of the sale in its path hold
	uncounted    bool // not among the requests in flight: it uses no store, or has a bound of its own
	off          bool // a part that it needs is not configured
	handle       handler
}

// refuse returns a handler that always fails with err.
func refuse(err error) handler {
	return func(*gin.Context, identity) (answer, error) { return answer{}, err }
}

// serve adapts a route to Gin: the only place where requests are authenticated, answers written, and requests logged
// and counted.
func (a *API) serve(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		began := a.cfg.Now()
		id := requestID(c.Request)
		h := c.Writer.Header()
		h["X-Request-Id"] = []string{id}
		h["X-Content-Type-Options"] = a.headers.nosniff
		h["Cache-Control"] = a.headers.noStore // live stock, people's orders, and what became of a purchase
		if a.declaresTooMuch(c.Request) {
			h["Connection"] = a.headers.closing // whatever the answer is: the body stays unread
		}
		who, ans, err := a.run(&r, c, began)
		res := a.write(c, r.format, ans, err)
		a.record(c, event{
			id: id, route: r.path, user: who.userID,
			status: res.status, code: res.code, err: res.err, took: a.cfg.Now().Sub(began),
		})
	}
}

// panicError is a handler's panic as an error. The stack goes to the log and nowhere else.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// declaresTooMuch reports whether a request declares a body beyond the limit. Nothing of such a body is read, and the
// connection is closed after the answer; by default net/http would first wait for up to 256 KiB, which may never come. A
// body of undeclared length is cut off while it is read (readBody), or by net/http where nobody reads it.
func (a *API) declaresTooMuch(r *http.Request) bool { return r.ContentLength > a.cfg.BodyLimit }

// run refuses requests beyond the bound, authenticates the caller, refuses bodies that are too large, and lets the handler
// work. A panic becomes an error, and is answered as one. The answer is written after run, so that callers who read slowly
// do not count as in flight.
func (a *API) run(r *route, c *gin.Context, began time.Time) (who identity, ans answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			ans, err = answer{}, &panicError{value: p, stack: debug.Stack()}
		}
	}()
	sale := a.remembered(r, c)
	if err := a.limitAddress(c, sale); err != nil { // first: a crowd from one address takes no permit
		return identity{}, answer{}, err
	}
	if r.access == forAdmins { // first: strangers take none of their permits, and an admin who pauses a sale gets through the rush
		if who, err = a.authorize(r, c.Request, began); err != nil {
			return who, answer{}, err
		}
	}
	if !r.uncounted {
		permit, ok := a.inFlight.Try(r.class)
		if !ok {
			return identity{}, answer{}, errOverloaded
		}
		defer permit.Release()
	}
	if r.access != forAdmins {
		if who, err = a.authorize(r, c.Request, began); err != nil {
			return who, answer{}, err
		}
	}
	if err := a.limitUser(c, sale, who); err != nil {
		return who, answer{}, err
	}
	if a.declaresTooMuch(c.Request) {
		return who, answer{}, errTooLarge
	}
	if r.class != bulkhead.Unnamed && r.class != bulkhead.Purchase { // purchases are what the stores take a caller for
		c.Request = c.Request.WithContext(bulkhead.With(c.Request.Context(), r.class))
	}
	ans, err = r.handle(c, who)
	return who, ans, err
}

// isAdmin reports whether an admin calls a route that is for all.
func (a *API) isAdmin(req *http.Request) bool {
	who, err := a.auth.identify(req.Header)
	return err == nil && who.admin
}

// authorize returns who calls, where the route needs to know, or why they may not. It uses no store.
func (a *API) authorize(r *route, req *http.Request, now time.Time) (identity, error) {
	if r.access == forAll {
		return identity{}, nil
	}
	who, err := a.auth.identify(req.Header)
	if r.queryToken && errors.Is(err, errNoToken) {
		who, err = a.auth.identifyQuery(req)
	}
	switch {
	case err != nil:
		return identity{}, err
	case r.access == forTills && who.shop == 0:
		return who, errNotTill
	case who.admin, r.access == forCrowds && who.crowd != 0:
		return who, nil
	case r.access == forAdmins, r.access == forCrowds:
		return who, errForbidden
	case !a.users.allow(who.userID, now):
		return who, errRateLimited
	}
	return who, nil
}

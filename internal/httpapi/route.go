package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/bulkhead"
)

// serve adapts a route to Gin: the only place where requests are authenticated, answers written, and requests logged
// and counted.
func (a *API) serve(r httpkit.Route) gin.HandlerFunc {
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
		res := a.write(c, r.Format, ans, err)
		a.record(c, event{
			id: id, route: r.Path, user: who.UserID,
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
// connection is closed after the answer; by default net/http would first wait for up to 256 KiB, which may never
// come. A body of undeclared length is cut off while it is read (readBody), or by net/http where nobody reads it.
func (a *API) declaresTooMuch(r *http.Request) bool { return r.ContentLength > a.cfg.BodyLimit }

// run refuses requests beyond the bound, authenticates the caller, refuses bodies that are too large and names that
// the route does not know, and lets the handler work. A panic becomes an error, and is answered as one. A body is read
// before and the answer written after the request counts as in flight, so that slow callers do not.
func (a *API) run(
	r *httpkit.Route, c *gin.Context, began time.Time,
) (who httpkit.Identity, ans httpkit.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			ans, err = httpkit.Answer{}, &panicError{value: p, stack: debug.Stack()}
		}
	}()
	sale, set := a.limited(r, c)
	if set != nil { // first: a crowd from one address takes no permit
		if err := a.cfg.Gatekeeper.Address(c, sale, set); err != nil {
			return httpkit.Identity{}, httpkit.Answer{}, err
		}
	}
	// first: strangers take none of admins' permits, an admin who pauses a sale gets through the rush, and nobody
	// reads what strangers send.
	first := r.Access == httpkit.ForAdmins || sendsBody(r, c.Request)
	if first {
		if who, err = a.admit(r, c, began); err != nil {
			return who, httpkit.Answer{}, err
		}
	}
	if !r.Uncounted {
		permit, ok := a.inFlight.Try(r.Class)
		if !ok {
			return httpkit.Identity{}, httpkit.Answer{}, errOverloaded
		}
		defer permit.Release()
	}
	if !first {
		if who, err = a.admit(r, c, began); err != nil {
			return who, httpkit.Answer{}, err
		}
	}
	if set != nil && !who.Admin {
		if err := a.cfg.Gatekeeper.User(c, who, sale, set); err != nil {
			return who, httpkit.Answer{}, err
		}
	}
	if r.Class != bulkhead.Unnamed && r.Class != bulkhead.Purchase { // purchases are what the stores take a caller for
		c.Request = c.Request.WithContext(bulkhead.With(c.Request.Context(), r.Class))
	}
	ans, err = r.Handle(c, who)
	return who, ans, err
}

// admit returns who calls, or why they may not, or what the route does not know in their request. It uses no store.
func (a *API) admit(r *httpkit.Route, c *gin.Context, now time.Time) (httpkit.Identity, error) {
	who, err := a.authorize(r, c.Request, now)
	if err == nil {
		err = a.strict(r, c)
	}
	return who, err
}

// isAdmin reports whether an admin calls a route that is for all.
func (a *API) isAdmin(req *http.Request) bool {
	who, err := a.auth.identify(req.Header)
	return err == nil && who.Admin
}

// authorize returns who calls, where the route needs to know, or why they may not. It uses no store.
func (a *API) authorize(r *httpkit.Route, req *http.Request, now time.Time) (httpkit.Identity, error) {
	if r.Access == httpkit.ForAll {
		return httpkit.Identity{}, nil
	}
	who, err := a.auth.identify(req.Header)
	if r.QueryToken && errors.Is(err, errNoToken) {
		who, err = a.auth.identifyQuery(req)
	}
	switch {
	case err != nil:
		return httpkit.Identity{}, err
	case r.Access == httpkit.ForTills && who.Shop == 0:
		return who, errNotTill
	case who.Admin, r.Access == httpkit.ForCrowds && who.Crowd != 0:
		return who, nil
	case r.Access == httpkit.ForAdmins, r.Access == httpkit.ForCrowds:
		return who, httpkit.ErrForbidden
	case !a.users.allow(who.UserID, now):
		return who, errRateLimited
	}
	return who, nil
}

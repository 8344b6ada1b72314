package httpapi

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/guard"
	"seckill/internal/guard/ticket"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Guards keep bots from taking a sale: *service.Guards.
type Guards interface {
	// Remembered returns a sale with its guards, without settings where it has none or is not known here. It asks no
	// store.
	Remembered(voucherID int64) guard.Sale
	// CheckAddress returns nil or a *guard.StoppedError. It asks no store.
	CheckAddress(s guard.Sale, c guard.Caller) error
	// CheckUser returns nil or a *guard.StoppedError. It asks no store.
	CheckUser(s guard.Sale, c guard.Caller) error
	// Enter returns nil, *order.AlreadyBoughtError or *guard.StoppedError.
	Enter(ctx context.Context, s guard.Sale, c guard.Caller) error
}

// limitAddress refuses a caller, who is not known yet, if their address asks for units of a sale too often.
func (a *API) limitAddress(c *gin.Context, s guard.Sale) error {
	if s.Settings == nil {
		return nil
	}
	return a.cfg.Guards.CheckAddress(s, guard.Caller{Address: a.address(c)})
}

// limitUser refuses a user who asks for units of a sale too often.
func (a *API) limitUser(c *gin.Context, s guard.Sale, who httpkit.Identity) error {
	if s.Settings == nil || who.Admin {
		return nil
	}
	return a.cfg.Guards.CheckUser(s, a.caller(c, who))
}

// remembered is the sale in the path of a route on which limits hold, without settings where it has no guards.
func (a *API) remembered(r *httpkit.Route, c *gin.Context) guard.Sale {
	if !r.Limited || a.cfg.Guards == nil {
		return guard.Sale{}
	}
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if bad != nil {
		return guard.Sale{}
	}
	return a.cfg.Guards.Remembered(id)
}

// enter returns nil if the guards of a voucher's sale let the caller in. A sale without guards costs a comparison:
// they come with the voucher that is bought. A hidden sale has guards too, as it may be shown by Redis' clock
// already; whom one stops is told what buying it tells: that there is none.
func (a *API) enter(c *gin.Context, who httpkit.Identity, v voucher.Voucher) error {
	if v.Sale == nil || v.Sale.Guards == nil || a.cfg.Guards == nil {
		return nil
	}
	s := guard.Sale{ID: v.ID, Begin: v.Sale.Begin, Settings: v.Sale.Guards}
	err := a.cfg.Guards.Enter(c.Request.Context(), s, a.caller(c, who))
	if _, stopped := errors.AsType[*guard.StoppedError](err); stopped && v.Hidden(a.cfg.Now()) {
		return voucher.ErrNotFound
	}
	return err
}

const (
	// ticketHeader carries a ticket for a sale.
	ticketHeader = "X-Seckill-Ticket"
	// solutionHeader carries the solution of a challenge, as ALTCHA's widget gives it. A header, because the entry
	// takes bodies of few routes: strangers who send them slowly have nothing to hold.
	solutionHeader = "X-Seckill-Altcha"
)

// caller is who calls, as guards see them.
func (a *API) caller(c *gin.Context, who httpkit.Identity) guard.Caller {
	return guard.Caller{
		UserID: who.UserID, Address: a.address(c), Claims: who.Claims, Ticket: c.Request.Header.Get(ticketHeader),
	}
}

// address is the caller's, behind trusted proxies; the zero one if it cannot be read.
func (a *API) address(c *gin.Context) netip.Addr {
	if len(a.cfg.TrustedProxies) == 0 {
		at, _ := netip.ParseAddrPort(c.Request.RemoteAddr)
		return at.Addr()
	}
	ip, _ := netip.ParseAddr(c.ClientIP())
	return ip
}

// stoppedMembers adds which guard stopped the request, and what it says; orderKnown is true if the user has no order
// in the sale, and false if that is not known.
func stoppedMembers(body []byte, _ words.Language, err error) []byte {
	e, is := errors.AsType[*guard.StoppedError](err)
	if !is {
		return body
	}
	body = append(body, `,"data":{"guard":"`...)
	body = append(body, e.Guard...)
	body = append(body, `","orderKnown":`...)
	body = strconv.AppendBool(body, e.OrderKnown)
	if rate, is := errors.AsType[*guard.RateError](e.Why); is {
		body = append(body, `,"of":"`...)
		body = append(body, rate.Of...)
		body = append(body, '"')
	}
	if eligible, is := errors.AsType[*guard.NotEligibleError](e.Why); is {
		body = append(body, `,"condition":"`...)
		body = append(body, eligible.Condition...)
		body = append(body, `","wanted":`...)
		body = strconv.AppendInt(body, eligible.Wanted, 10)
	}
	if early, is := errors.AsType[*ticket.EarlyError](e.Why); is {
		body = append(body, `,"usableFrom":`...)
		body = httpkit.AppendJSON(body, early.UsableFrom.UTC())
	}
	return append(body, '}')
}

// retryAfter returns in how many seconds a guard lets the caller ask again; "" if it does not say.
func retryAfter(err error) string {
	var wait time.Duration
	if rate, is := errors.AsType[*guard.RateError](err); is {
		wait = rate.Retry
	}
	if cooling, is := errors.AsType[*guard.CoolDownError](err); is {
		wait = cooling.Retry
	}
	if wait <= 0 {
		return ""
	}
	return strconv.FormatInt(int64(math.Ceil(wait.Seconds())), 10)
}

// guardsField is the field with the guards of a sale. A guard that it leaves out stays as it is; null turns one off,
// or all.
func (a *API) guardsField(c *guards.Change) jsonbody.Field {
	return jsonbody.Object("guards", func() { *c = guards.Change{} }, func() { *c = guards.Change{AllOff: true} },
		guardField("limits", &c.Limits, func(l *guards.Limits) []jsonbody.Field {
			return []jsonbody.Field{
				rateField("perAddress", &l.PerAddress), rateField("perNetwork", &l.PerNetwork),
				rateField("perUser", &l.PerUser), jsonbody.Bool("dryRun", &l.DryRun),
			}
		}),
		guardField("conditions", &c.Conditions, func(d *guards.Conditions) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Integer("minLevel", &d.MinLevel), jsonbody.Integer("minAgeDays", &d.MinAgeDays),
				jsonbody.Bool("dryRun", &d.DryRun),
			}
		}),
		a.secretField("tickets", guardField("tickets", &c.Tickets, func(t *guards.Tickets) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("delayMs", &t.DelayMs)),
				jsonbody.Required(jsonbody.Integer("leadMinutes", &t.LeadMinutes)),
				jsonbody.Required(jsonbody.Integer("expiryMinutes", &t.ExpiryMinutes)),
				jsonbody.Bool("dryRun", &t.DryRun),
			}
		})),
		a.secretField("challenge", guardField("challenge", &c.Challenge, func(w *guards.Challenge) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("difficulty", &w.Difficulty)),
				jsonbody.Required(jsonbody.Integer("maxDifficulty", &w.MaxDifficulty)),
				jsonbody.Bool("dryRun", &w.DryRun),
			}
		})),
		guardField("coolDown", &c.CoolDown, func(d *guards.CoolDown) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("expired", &d.Expired)),
				jsonbody.Required(jsonbody.Integer("minutes", &d.Minutes)), jsonbody.Bool("dryRun", &d.DryRun),
			}
		}),
	)
}

// secretField is a field of a guard that signs. Without a secret there is none; guards: null still turns all off.
func (a *API) secretField(name string, f jsonbody.Field) jsonbody.Field {
	if a.cfg.Tickets == nil {
		return jsonbody.Forbidden(name, invalid.NeedsSetting, invalid.Data{"setting": "SECKILL_GUARD_SECRET"})
	}
	return f
}

// guardField is the field with the settings of one guard; null turns it off.
func guardField[T any](name string, into *guards.Edit[T], fields func(*T) []jsonbody.Field) jsonbody.Field {
	to := new(T)
	return jsonbody.Object(name,
		func() { *into = guards.Edit[T]{Given: true, To: to} }, func() { *into = guards.Edit[T]{Given: true} },
		fields(to)...)
}

// rateField is the field with a limit; null is none.
func rateField(name string, into **guards.Rate) jsonbody.Field {
	r := new(guards.Rate)
	return jsonbody.Object(name, func() { *into = r }, func() { *into = nil },
		jsonbody.Required(jsonbody.Integer("requests", &r.Requests)),
		jsonbody.Required(jsonbody.Integer("seconds", &r.Seconds)))
}

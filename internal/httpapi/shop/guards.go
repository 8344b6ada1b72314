package shop

import (
	"errors"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// enter returns nil if the guards of a voucher's sale, which has some, let the caller in. If the guards limit how many
// units go to one address, it also reserves the units. Call finish with the purchase's order and error. Guards also
// apply to a hidden sale, which may already be visible by Redis's clock.
func (a *API) enter(
	c *gin.Context, who httpkit.Identity, v voucher.Voucher, units int64,
) (finish func(orderID int64, err error), err error) {
	if err := a.cfg.Gatekeeper.Enter(c, who, v); err != nil {
		return nil, err
	}
	end, err := a.cfg.Gatekeeper.Reserve(c, who, v, units)
	return func(orderID int64, err error) { end(guards.Ending{Outcome: outcomeOf(err), ID: orderID}) }, err
}

// outcomeOf returns how a purchase ended, for the guards.
func outcomeOf(err error) guards.Outcome {
	_, failed := errors.AsType[*OrderFailedError](err)
	_, malformed := errors.AsType[*invalid.Error](err)
	switch {
	case err == nil, failed: // a failed order had won its units, even if they come back
		return guards.Won
	case gate.Refused(err), malformed, errors.Is(err, voucher.ErrNotSeckill):
		return guards.Refused
	default:
		return guards.Unknown
	}
}

// guardsField is the field with the guards of a sale. A guard that the request leaves out stays unchanged. null turns a
// guard off, or all guards if it stands for the whole field.
func (a *API) guardsField(c *guards.Change) jsonbody.Field {
	return jsonbody.Object("guards", func() { *c = guards.Change{} }, func() { *c = guards.Change{AllOff: true} },
		guardField(a, guards.LimitsGuard, &c.Limits, func(l *guards.Limits) []jsonbody.Field {
			return []jsonbody.Field{
				rateField("perAddress", &l.PerAddress), rateField("perNetwork", &l.PerNetwork),
				rateField("perUser", &l.PerUser), jsonbody.Bool("dryRun", &l.DryRun),
			}
		}),
		guardField(a, guards.ConditionsGuard, &c.Conditions, func(d *guards.Conditions) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Integer("minLevel", &d.MinLevel), jsonbody.Integer("minAgeDays", &d.MinAgeDays),
				jsonbody.Bool("dryRun", &d.DryRun),
			}
		}),
		guardField(a, guards.TicketsGuard, &c.Tickets, func(t *guards.Tickets) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("delayMs", &t.DelayMs)),
				jsonbody.Required(jsonbody.Integer("leadMinutes", &t.LeadMinutes)),
				jsonbody.Required(jsonbody.Integer("expiryMinutes", &t.ExpiryMinutes)),
				jsonbody.Bool("dryRun", &t.DryRun),
				jsonbody.Forbidden("draw", changedByRoute, invalid.Data{"route": "PUT /admin/voucher/:id/draw"}),
			}
		}),
		guardField(a, guards.ChallengeGuard, &c.Challenge, func(w *guards.Challenge) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("difficulty", &w.Difficulty)),
				jsonbody.Required(jsonbody.Integer("maxDifficulty", &w.MaxDifficulty)),
				jsonbody.Bool("dryRun", &w.DryRun),
			}
		}),
		guardField(a, guards.CoolDownGuard, &c.CoolDown, func(d *guards.CoolDown) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Required(jsonbody.Integer("expired", &d.Expired)),
				jsonbody.Required(jsonbody.Integer("minutes", &d.Minutes)), jsonbody.Bool("dryRun", &d.DryRun),
			}
		}),
		guardField(a, guards.UnitsGuard, &c.Units, func(u *guards.Units) []jsonbody.Field {
			return []jsonbody.Field{
				jsonbody.Integer("perAddress", &u.PerAddress), jsonbody.Integer("perNetwork", &u.PerNetwork),
				jsonbody.Text("shared", &u.Shared), jsonbody.Bool("dryRun", &u.DryRun),
			}
		}),
	)
}

// guardField is the field with the settings of one guard; null turns it off. If this service lacks the guard, it
// refuses any value. In either case "guards: null" turns all guards off.
func guardField[T any](
	a *API, n guards.Name, into *guards.Edit[T], fields func(*T) []jsonbody.Field,
) jsonbody.Field {
	if why, data := a.cfg.Gatekeeper.Lacks(n); why != (invalid.Reason{}) {
		return jsonbody.Forbidden(string(n), why, data)
	}
	to := new(T)
	return jsonbody.Object(string(n),
		func() { *into = guards.Edit[T]{Given: true, To: to} }, func() { *into = guards.Edit[T]{Given: true} },
		fields(to)...)
}

// rateField is the field with a rate limit; null means no limit.
func rateField(name string, into **guards.Rate) jsonbody.Field {
	r := new(guards.Rate)
	return jsonbody.Object(name, func() { *into = r }, func() { *into = nil },
		jsonbody.Required(jsonbody.Integer("requests", &r.Requests)),
		jsonbody.Required(jsonbody.Integer("seconds", &r.Seconds)))
}

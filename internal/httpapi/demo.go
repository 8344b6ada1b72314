package httpapi

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/voucher"
)

// firstDemoUser is the lowest id of a demo buyer: above the ids that people choose when they try things out, and below
// those of accounts.
const firstDemoUser = voucher.FirstAccount >> 1

// demoAdminID is the admin of the sign-in link.
const demoAdminID = 1

// The rate of new demo buyers, for all callers together: enough for people who try the service, but too few for a
// script that wants to buy up the demonstration sale.
const (
	demoBuyersPerSecond = 1
	demoBuyersAtOnce    = 60
)

// demoTokenJSON is a token for trying the service, with its user.
type demoTokenJSON struct {
	UserID     int64        `json:"userId"`
	Token      string       `json:"token"`
	ValidUntil httpkit.Time `json:"validUntil"`
}

// demoBuyer answers POST /demo/buyer: a new buyer, who has bought nothing, and their token. It stores nothing, and
// never makes an admin.
func (a *API) demoBuyer(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	if !a.ownPage(c.Request) {
		return httpkit.Answer{}, errForeignPage
	}
	if !a.demoBuyers.AllowN(a.cfg.Now(), 1) {
		return httpkit.Answer{}, errManyDemoBuyers
	}
	n, err := rand.Int(rand.Reader, big.NewInt(voucher.FirstAccount-firstDemoUser))
	if err != nil {
		return httpkit.Answer{}, fmt.Errorf("a demo buyer's id: %w", err)
	}
	now, user := a.cfg.Now(), firstDemoUser+n.Int64()
	return a.demoToken(user, "", now)
}

// ownPage reports whether a request may come from a page of the service, or from no page. It refuses pages of other
// origins, unless they may call the service, since they could use up the demo buyers. It also refuses unknown host
// names, which somebody may have pointed at this machine (DNS rebinding).
func (a *API) ownPage(r *http.Request) bool {
	return isKnownHost(r.Host, a.cfg.OperationsHosts) &&
		(slices.Contains(a.cfg.AllowedOrigins, "*") || a.origins.Check(r) == nil)
}

// newOrigins returns the origins whose pages may call the service. The caller has checked them.
func newOrigins(allowed []string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	for _, origin := range allowed {
		if origin == "*" {
			continue
		}
		if err := p.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("httpapi: %w", err)
		}
	}
	return p, nil
}

// signInCode is the code in a sign-in link: the first caller who sends it gets an admin's token.
type signInCode struct {
	unused atomic.Pointer[string] // nil: used, or none was given out
}

func newSignInCode(code string) *signInCode {
	c := &signInCode{}
	if code != "" {
		c.unused.Store(&code)
	}
	return c
}

// use reports whether code is the unused code, and uses it up. Only one of many concurrent callers gets true.
func (c *signInCode) use(code string) bool {
	unused := c.unused.Load()
	return unused != nil && subtle.ConstantTimeCompare([]byte(*unused), []byte(code)) == 1 &&
		c.unused.CompareAndSwap(unused, nil)
}

// demoAdmin answers POST /demo/admin: an admin's token for the code of the sign-in link, once, and only to callers on
// this machine. If the answer is lost, so is the link; the token that the welcome prints beside it still works.
func (a *API) demoAdmin(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	if !onThisMachine(c.Request) {
		return httpkit.Answer{}, errNotLocal
	}
	var code string
	if err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("code", &code))); err != nil {
		return httpkit.Answer{}, err
	}
	if !a.signIn.use(code) {
		return httpkit.Answer{}, errUsedLink
	}
	return a.demoToken(demoAdminID, authtoken.RoleAdmin, a.cfg.Now())
}

// onThisMachine reports whether the caller is a process on this machine and not a proxy for others, which would send
// these headers.
func onThisMachine(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && r.Header.Get("X-Forwarded-For") == "" &&
		r.Header.Get("Forwarded") == ""
}

// demoToken returns the answer with a token for trying the service.
func (a *API) demoToken(user int64, role string, now time.Time) (httpkit.Answer, error) {
	life := a.cfg.DemoTokens
	if longest := a.cfg.Tokens.Life(role); longest > 0 {
		life = min(life, longest)
	}
	token, err := authtoken.Sign(a.cfg.Tokens, authtoken.Account{User: user, Role: role}, life, now)
	return httpkit.Data(http.StatusCreated,
		demoTokenJSON{UserID: user, Token: token, ValidUntil: httpkit.ShownTime(now.Add(life))}, err)
}

// The refusals of tokens for trying the service. The error table names them.
var (
	// errManyDemoBuyers: too many demo buyers have been made.
	errManyDemoBuyers = errors.New("too many demo buyers")
	// errUsedLink: the sign-in link was used, or is from an earlier start of the service.
	errUsedLink = errors.New("no such sign-in code")
	// errNotLocal: the sign-in link is used on another machine.
	errNotLocal = errors.New("the caller is not on this machine")
	// errForeignPage: the request comes from a page of another site, or used an unknown host name.
	errForeignPage = errors.New("a page of another site asks")
)

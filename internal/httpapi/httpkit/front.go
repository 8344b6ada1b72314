package httpkit

import (
	"context"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
)

// Front is what the core's interface gives to features' routes.
type Front struct {
	Bodies  Bodies
	Streams *Streams
	Now     func() time.Time
	// Address returns the caller's address, behind trusted proxies; the zero one if it cannot be read.
	Address func(c *gin.Context) netip.Addr
	Zone    *time.Location // in which times without one are read
	// Orders answers with recorded orders as GET /admin/order does: those that the filter selects, with an id below
	// before, newest first, at most n. order.ErrUnavailable.
	Orders func(ctx context.Context, f order.Filter, before int64, n int) (Envelope, error)
}

// AddressBehind returns [Front.Address] for a listener that believes these proxies, which may be none.
func AddressBehind(proxies []string) func(c *gin.Context) netip.Addr {
	if len(proxies) > 0 {
		return func(c *gin.Context) netip.Addr {
			ip, _ := netip.ParseAddr(c.ClientIP())
			return ip
		}
	}
	return func(c *gin.Context) netip.Addr {
		at, _ := netip.ParseAddrPort(c.Request.RemoteAddr)
		return at.Addr()
	}
}

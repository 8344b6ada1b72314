package httpkit

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Gatekeeper keeps bots from taking sales that have guards. It is not asked about other sales. It is asked on routes
// with [Limited], before a purchase, and before joining a waiting list. Its errors are its own, and have their own
// rules.
type Gatekeeper interface {
	// Limits refuses a caller who asks for units of the voucher's sale too often, or whose address or network does. It
	// asks no store.
	Limits(c *gin.Context, who Identity, voucherID int64, s *guards.Settings) error
	// Enter returns nil if the user may enter the voucher's sale. A user who may not, but has an order there, gets
	// *gate.AlreadyBoughtError. A sale that the public does not see yet is voucher.ErrNotFound.
	Enter(c *gin.Context, who Identity, v voucher.Voucher) error
	// Reserve reserves units of the voucher's sale for a user who may enter it, before the purchase is tried. Like
	// Enter, it refuses callers whose address or network has its full share. A user who is remembered to have an order
	// gets *gate.AlreadyBoughtError. Call finish once, also after a panic.
	Reserve(c *gin.Context, who Identity, v voucher.Voucher, units int64) (finish func(guards.Ending), err error)
	// Headers returns the request headers that it reads. Pages of other origins may send them.
	Headers() []string
	// Lacks returns the reason why a guard is not available here, with its data; the zero reason if it is available.
	Lacks(n guards.Name) (why invalid.Reason, data invalid.Data)
}

// NoGuards is the Gatekeeper of a server that was built without guards. It refuses nobody.
type NoGuards struct{}

// Limits implements Gatekeeper.
func (NoGuards) Limits(*gin.Context, Identity, int64, *guards.Settings) error { return nil }

// Enter implements Gatekeeper.
func (NoGuards) Enter(*gin.Context, Identity, voucher.Voucher) error { return nil }

// Reserve implements Gatekeeper.
func (NoGuards) Reserve(*gin.Context, Identity, voucher.Voucher, int64) (func(guards.Ending), error) {
	return func(guards.Ending) {}, nil
}

// Headers implements Gatekeeper.
func (NoGuards) Headers() []string { return nil }

// needsGuards is why NoGuards lacks every guard.
var needsGuards = invalid.NewReason("NEEDS_GUARDS", "needs guards, which this service was built without",
	"本服务的构建不含防刷功能")

// Lacks implements Gatekeeper.
func (NoGuards) Lacks(guards.Name) (invalid.Reason, invalid.Data) { return needsGuards, nil }

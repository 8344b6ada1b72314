package redisstore

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// The interfaces that the package implements.
var (
	_ order.Gate           = (*Store)(nil)
	_ order.Places         = (*Store)(nil)
	_ order.Held           = (*Store)(nil)
	_ order.OperationSales = (*Store)(nil)
	_ order.SaleReader     = (*Store)(nil)
	_ order.SaleBuilder    = (*Store)(nil)
	_ order.SaleRetirer    = (*Store)(nil)
	_ voucher.Sales        = (*Store)(nil)
	_ order.Queue          = (*Consumer)(nil)
	_ order.Membership     = (*Consumer)(nil)
)

// Options are a Store's settings. The zero value is right for production.
type Options struct {
	// Prefix stands in front of every key. It holds no braces. Default: none.
	Prefix string
	// ReturnDelay is how long a unit that comes back to a sold-out sale waits until it can be sold: no shorter than
	// instances answer SOLD_OUT from memory (rule 11), and no longer than a minute. Default: one second.
	ReturnDelay time.Duration
	// OrphanAfter is after how much silence a consumer counts as dead. It must be several heartbeats, and longer
	// than a blocking read. Default: five seconds.
	OrphanAfter time.Duration
}

const (
	defaultReturnDelay = time.Second
	maxReturnDelay     = time.Minute // the scripts take what is further off for the work of a clock that was set back
	defaultOrphanAfter = 5 * time.Second
)

// Store is the Redis of vouchers and orders. It is safe for concurrent use.
type Store struct {
	commands redis.UniversalClient
	blocking redis.UniversalClient
	keys     keys
	scripts  scriptSet
	options  Options
	log      *slog.Logger
}

// New returns a store on the clients, which stay the caller's to close. It fails for a prefix that holds braces
// and for a return delay that is too long.
func New(clients *Clients, o Options, log *slog.Logger) (*Store, error) {
	k, err := newKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.ReturnDelay <= 0 {
		o.ReturnDelay = defaultReturnDelay
	}
	if o.ReturnDelay > maxReturnDelay {
		return nil, fmt.Errorf("return delay of %v, allowed is %v", o.ReturnDelay, maxReturnDelay)
	}
	if o.OrphanAfter <= 0 {
		o.OrphanAfter = defaultOrphanAfter
	}
	return &Store{
		commands: clients.Commands, blocking: clients.Blocking, keys: k, scripts: newScriptSet(), options: o, log: log,
	}, nil
}

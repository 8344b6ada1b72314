package redisstore

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// The interfaces that the package implements.
var (
	_ order.Gate            = (*Store)(nil)
	_ order.Winners         = (*Store)(nil)
	_ order.Places          = (*Store)(nil)
	_ order.Held            = (*Store)(nil)
	_ order.OperationSales  = (*Store)(nil)
	_ order.SaleReader      = (*Store)(nil)
	_ order.SaleBuilder     = (*Store)(nil)
	_ order.SaleRetirer     = (*Store)(nil)
	_ order.Hearings        = (*Store)(nil)
	_ order.TestimonyReader = (*Store)(nil)
	_ order.Letters         = (*Store)(nil)
	_ order.Board           = (*Store)(nil)
	_ order.Pulses          = (*Store)(nil)
	_ order.Stocktaker      = (*Store)(nil)
	_ voucher.Sales         = (*Store)(nil)
	_ order.Queue           = (*Consumer)(nil)
	_ order.Membership      = (*Consumer)(nil)
)

// Options are a Store's settings. The zero value is right for production.
type Options struct {
	// Prefix stands in front of every key. It holds no braces. Default: none.
	Prefix string
	// OrphanAfter is after how much silence a consumer counts as dead. It must be several heartbeats, and longer
	// than a blocking read. Default: five seconds.
	OrphanAfter time.Duration
	// Alone says that no other process uses this Redis, and that it began empty with this one: the embedded mode. A sale
	// that is missing then was never open, and sells at once when it is built.
	Alone bool
	// Replicas must have an accepted order before its buyer is told. Default: none, and nobody is asked.
	Replicas Replicas
}

const defaultOrphanAfter = 5 * time.Second

// Store is the Redis of vouchers and orders. It is safe for concurrent use.
type Store struct {
	commands redis.UniversalClient
	blocking redis.UniversalClient
	keys     keys
	scripts  scriptSet
	// admissions are calls of scripts.seckill.
	admissions *convoy
	options    Options
	// returnDelay is order.ReturnDelay, and no setting: an instance that held units back for less than others remember
	// would make them lie (rule 11). At most a minute: what is further off the scripts take for a clock set back.
	returnDelay time.Duration
	log         *slog.Logger
}

// New returns a store on the clients, which stay the caller's to close. It fails for a prefix that holds braces, and for
// replicas that cannot be asked.
func New(clients *Clients, o Options, log *slog.Logger) (*Store, error) {
	k, err := newKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.Replicas.check(clients.Commands, o.Alone); err != nil {
		return nil, err
	}
	if o.OrphanAfter <= 0 {
		o.OrphanAfter = defaultOrphanAfter
	}
	set := newScriptSet()
	return &Store{
		commands: clients.Commands, blocking: clients.Blocking, keys: k, scripts: set,
		admissions: newConvoy(clients.Commands, set.seckill, o.Replicas, k.confirmed()), options: o,
		returnDelay: order.ReturnDelay, log: log,
	}, nil
}

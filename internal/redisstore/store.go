package redisstore

import (
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

// Options are a Store's settings. But for Word, the zero value is right for production.
type Options struct {
	// Word is what each partition carries that is this ledger's: schema.Schema.Word.
	Word string
	// Prefix precedes every key. It has no braces. Default: none.
	Prefix string
	// OrphanAfter is after how much silence a consumer counts as dead. It must be several heartbeats, and longer
	// than a blocking read. Default: five seconds.
	OrphanAfter time.Duration
	// Alone says that no other process uses this Redis, and that it began empty with this one: the embedded mode. A
	// missing sale was never open then, and sells as soon as it is built.
	Alone bool
	// Version is that of this build. Each heartbeat tells it, for people who ask which versions run. Default: not told.
	Version string
	// Formats are what this build writes and its predecessor could not read. Each heartbeat names them, so that what
	// is new is written only once all instances read it (docs/upgrades.md). Default: none, as in this version.
	Formats []string
	// Replicas must have an accepted order before its buyer is answered. Default: none, and no replica is asked.
	Replicas Replicas
}

const defaultOrphanAfter = 5 * time.Second

// Store is the Redis of vouchers and orders. It is safe for concurrent use.
type Store struct {
	commands redis.UniversalClient
	blocking redis.UniversalClient
	place    string // where Redis is, for people; "": as its nodes have it
	keys     keys
	scripts  scriptSet
	// admissions calls scripts.seckill.
	admissions *admissionCalls
	options    Options
	formats    *formats
	// returnDelay is order.ReturnDelay, and no setting: if an instance held units back for less than others cache
	// "sold out", their answers would be wrong (rule 11). At most a minute: the scripts take more for a clock that
	// was set back.
	returnDelay time.Duration
	log         *slog.Logger
}

// New returns a store on the clients, which stay the caller's to close. It fails without a word, for a prefix with
// braces, and for replicas where there are none.
func New(clients *rediskit.Clients, o Options, log *slog.Logger) (*Store, error) {
	k, err := newKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.Word == "" {
		return nil, errors.New("redis: the ledger has no word")
	}
	if err := o.Replicas.check(o.Alone); err != nil {
		return nil, err
	}
	if o.OrphanAfter <= 0 {
		o.OrphanAfter = defaultOrphanAfter
	}
	set := newScriptSet()
	return &Store{
		commands: clients.Commands, blocking: clients.Blocking, place: clients.Place, keys: k, scripts: set,
		admissions: &admissionCalls{
			open: func() *sharedCalls { return newSharedCalls(clients.Commands, set.seckill, k, o.Replicas) },
		},
		options: o, formats: new(formats),
		returnDelay: order.ReturnDelay, log: log,
	}, nil
}

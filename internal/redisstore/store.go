package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

// Options are a Store's settings. Except for Word, which is required, the zero value is right for production.
type Options struct {
	// Word marks each partition as this ledger's: schema.Schema.Word.
	Word string
	// Prefix precedes every key. It must not have braces. Default: none.
	Prefix string
	// OrphanAfter is how long a consumer must be silent to count as dead. It must be several heartbeats, and longer
	// than a blocking read. Default: five seconds.
	OrphanAfter time.Duration
	// Alone says that no other process uses this Redis, and that its data began with this process: the embedded mode. A
	// missing sale was then never open, and sells as soon as it is built.
	Alone bool
	// Version is this build's version. Each heartbeat has it, so that operators can see which versions run. Default:
	// none.
	Version string
	// Formats are the formats that this build can read and its predecessor could not. Each heartbeat names them, so
	// that a new format is written only once all instances read it (docs/operations.md#upgrading).
	// Default: none, as in this version.
	Formats []string
	// Replicas must confirm an accepted order before its buyer gets an answer. Default: none is asked.
	Replicas Replicas
}

const defaultOrphanAfter = 5 * time.Second

// Store is the data of vouchers and orders in Redis. It is safe for concurrent use.
type Store struct {
	commands redis.UniversalClient
	blocking redis.UniversalClient
	place    string // where Redis is, to show to people; "": the address of the partition's node
	keys     keys
	scripts  scriptSet
	options  Options
	formats  *formats
	// returnDelay is order.ReturnDelay, and not a setting: if an instance held units back for less time than others
	// cache "sold out", their answers would be wrong (rule 11). It is a minute at most: the scripts take a longer delay
	// for a clock that was set back.
	returnDelay time.Duration
	log         *slog.Logger
}

// scriptSet is the scripts of this package.
type scriptSet struct {
	seckill, correct, apply, views, holdings            rediskit.Script
	begin, setHolders, requeue, publish, drop           rediskit.Script
	reportHeartbeat, report, roundProgress              rediskit.Script
	acknowledge, deadLetter, heartbeat, takeOver, leave rediskit.Script
	replay, addCounts, inventory, unpackLetter          rediskit.Script
	checkFormat, createGroup                            rediskit.Script
}

func newScriptSet() scriptSet {
	return scriptSet{
		seckill: rediskit.NewScript("seckill"), correct: rediskit.NewScript("correct"),
		apply: rediskit.NewScript("apply"),
		views: rediskit.NewScript("views"), holdings: rediskit.NewScript("holdings"),
		begin: rediskit.NewScript("begin_rebuild"), setHolders: rediskit.NewScript("set_holders"),
		requeue: rediskit.NewScript("requeue"),
		publish: rediskit.NewScript("publish"), drop: rediskit.NewScript("drop"),
		reportHeartbeat: rediskit.NewScript("report_heartbeat"), report: rediskit.NewScript("report"),
		roundProgress: rediskit.NewScript("round_progress"), acknowledge: rediskit.NewScript("acknowledge"),
		deadLetter: rediskit.NewScript("dead_letter"), heartbeat: rediskit.NewScript("heartbeat"),
		takeOver: rediskit.NewScript("take_over"), leave: rediskit.NewScript("leave"),
		replay: rediskit.NewScript("replay"), addCounts: rediskit.NewScript("add_counts"),
		inventory: rediskit.NewScript("inventory"), unpackLetter: rediskit.NewScript("unpack_letter"),
		checkFormat: rediskit.NewScript("check_format"), createGroup: rediskit.NewScript("create_group"),
	}
}

// New returns a store on the clients; the caller still has to close them. It fails if Options.Word is empty, if the
// prefix has braces, and if replicas are to confirm in a Redis that has none.
func New(clients *rediskit.Clients, o Options, log *slog.Logger) (*Store, error) {
	if err := rediskit.CheckPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if o.Word == "" {
		return nil, errors.New("redis: the ledger has no word")
	}
	if n := o.Replicas.Count; n > 0 && o.Alone {
		return nil, fmt.Errorf("redis: %d replicas are to confirm, but the Redis of the embedded mode has none", n)
	}
	if o.OrphanAfter <= 0 {
		o.OrphanAfter = defaultOrphanAfter
	}
	return &Store{
		commands: clients.Commands, blocking: clients.Blocking, place: clients.Place,
		keys: keys{prefix: o.Prefix}, scripts: newScriptSet(),
		options: o, formats: new(formats), returnDelay: order.ReturnDelay, log: log,
	}, nil
}

// Ping returns nil if Redis answers; for readiness.
func (s *Store) Ping(ctx context.Context) error {
	return rediskit.Translate(s.commands.Ping(ctx).Err())
}

// PingPartition is Ping for the partition's server: one node of a cluster may be down alone.
func (s *Store) PingPartition(ctx context.Context, partition int) error {
	node, err := s.nodeOf(ctx, partition)
	if err != nil {
		return err
	}
	return rediskit.Translate(node.Ping(ctx).Err())
}

// TimeIn returns the time by the clock of the partition's server, which decides when sales there begin.
func (s *Store) TimeIn(ctx context.Context, partition int) (time.Time, error) {
	node, err := s.nodeOf(ctx, partition)
	if err != nil {
		return time.Time{}, err
	}
	now, err := node.Time(ctx).Result()
	return now.UTC(), rediskit.Translate(err)
}

// nodeOf returns the partition's server, for commands without a key.
func (s *Store) nodeOf(ctx context.Context, partition int) (redis.UniversalClient, error) {
	return rediskit.Node(ctx, s.commands, s.keys.orders(partition))
}

package rediskit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/bulkhead"
)

// Topology is the kind of Redis: one server, Sentinels or a cluster.
type Topology string

// The topologies.
const (
	Single   Topology = "single"   // one server
	Sentinel Topology = "sentinel" // a master found by Sentinels; a failover may lose acknowledged writes (rule 9)
	Cluster  Topology = "cluster"  // Redis Cluster, also of one node
)

// Config says how to reach Redis.
type Config struct {
	Topology   Topology
	Addrs      []string // host:port; of the server, the Sentinels, or some nodes of the cluster
	MasterName string   // the master's name among the Sentinels
	Username   string   // ACL user; empty for the default one
	Password   string
	// SentinelPassword is the Sentinels' own password; empty when they have none.
	SentinelPassword string
	DB               int // database; 0 with a cluster
	TLS              *tls.Config
	// Name is what CLIENT LIST shows for the connections.
	Name string
	// Timeout bounds sending a command and reading its answer, each. It also bounds connecting and waiting for a
	// connection of the pool, but those end after 450 ms in any case. A context that ends sooner wins.
	Timeout time.Duration
	// PoolSize is how many connections to each server serve commands, for all classes of callers together (bulkhead).
	// Admissions travel in batches, so a few connections carry many of them.
	PoolSize int
	// Readers is how many blocking reads may run at once: one per consumer, that is, one per partition.
	Readers int
}

const (
	// maxConnect bounds waiting for a connection and making one, each. Both together must take less than the second
	// that one try of an admission has: the client's own error proves that nothing was sent, the context's error does
	// not.
	maxConnect = 450 * time.Millisecond
	// MaxBlock bounds a blocking read, which does not stop when its context ends.
	MaxBlock = time.Second
)

// Clients are the two clients of a process. Neither retries by itself: a script whose answer was lost may have run, and
// only its caller knows whether to repeat it.
type Clients struct {
	Commands redis.UniversalClient
	// Blocking has its own pool for reads that wait. In a shared pool they would take connections away from admissions.
	Blocking redis.UniversalClient

	Place   string   // where Redis is, for people, if the client does not know that: behind Sentinels
	permits *permits // for the connections that serve commands
}

// NewClients returns clients that connect when they are first used. It fails if settings contradict each other.
func NewClients(c Config) (*Clients, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	commands, blocking := c.Options(), c.Options()
	commands.PoolSize = c.PoolSize
	blocking.PoolSize = c.Readers
	// The read timeout includes the time that Redis waits. Without the surplus each idle read would break its
	// connection.
	blocking.ReadTimeout = c.Timeout + MaxBlock
	clients := &Clients{
		Commands: NewClient(commands), Blocking: NewClient(blocking),
		permits: &permits{size: c.PoolSize, wait: commands.PoolTimeout},
	}
	if c.Topology == Sentinel {
		clients.Place = fmt.Sprintf("the master %s of the Sentinels %s", c.MasterName, strings.Join(c.Addrs, ", "))
	}
	clients.permits.bound(clients.Commands)
	return clients, nil
}

// NewClient returns a client that notices moved slots by itself.
func NewClient(o *redis.UniversalOptions) redis.UniversalClient {
	client := redis.NewUniversalClient(o)
	watchSlotMap(client)
	return client
}

// Permits returns how the classes of callers use the connections for commands, added up over all servers.
func (c *Clients) Permits() []bulkhead.Load { return c.permits.loads() }

// Close closes both clients.
func (c *Clients) Close() error {
	return errors.Join(c.Commands.Close(), c.Blocking.Close())
}

func (c Config) check() error {
	if c.Readers < 1 {
		return errors.New("redis: no connections for blocking reads")
	}
	if len(c.Addrs) == 0 {
		return errors.New("redis: no address")
	}
	// There are no default limits here; internal/config has them.
	if least := len(bulkhead.Stores()); c.PoolSize < least || c.Timeout <= 0 {
		return fmt.Errorf("redis: PoolSize is %d and Timeout %v; allowed are %d or more, and above 0",
			c.PoolSize, c.Timeout, least)
	}
	switch c.Topology {
	case Single:
		if len(c.Addrs) != 1 {
			return fmt.Errorf("redis: %d addresses for a single server", len(c.Addrs))
		}
	case Sentinel:
		if c.MasterName == "" {
			return errors.New("redis: Sentinels without the name of their master")
		}
	case Cluster:
		if c.DB != 0 {
			return fmt.Errorf("redis: database %d, but a cluster has only 0", c.DB)
		}
	default:
		return fmt.Errorf("redis: unknown topology %q", c.Topology)
	}
	return nil
}

// Options returns the options that both clients share. The caller adds the number of connections.
func (c Config) Options() *redis.UniversalOptions {
	o := &redis.UniversalOptions{
		Addrs:         c.Addrs,
		IsClusterMode: c.Topology == Cluster,
		ClientName:    c.Name,
		DB:            c.DB,
		Username:      c.Username,
		Password:      c.Password,
		TLSConfig:     c.TLS,
		// RESP2 suffices, is the same for every server, and has no push messages to check for before each command.
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1, // see Clients
		DialTimeout:           min(c.Timeout, maxConnect),
		PoolTimeout:           min(c.Timeout, maxConnect),
		DialerRetries:         1, // if Redis is away, the answer is "unavailable" now, not after five attempts
		ReadTimeout:           c.Timeout,
		WriteTimeout:          c.Timeout,
		ContextTimeoutEnabled: true, // otherwise deadlines do not reach the socket
	}
	if c.Topology == Sentinel {
		o.MasterName, o.SentinelPassword = c.MasterName, c.SentinelPassword
	}
	return o
}

// ClientLog is a go-redis logger that writes to Log at debug level. Unless redis.SetLogger says otherwise, go-redis
// reports every failed attempt to connect on standard error, thousands a second while Redis is away. That setting is
// global to the process, so package main makes it. Nothing is lost at debug level: each such failure is also an error
// of the call that wanted the connection.
type ClientLog struct{ Log *slog.Logger }

// Printf logs one message.
func (l ClientLog) Printf(ctx context.Context, format string, v ...any) {
	if l.Log.Enabled(ctx, slog.LevelDebug) {
		l.Log.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, v...))
	}
}

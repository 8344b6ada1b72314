package lock

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Client is what the package needs of Redis: a *redis.Client or a *redis.ClusterClient, or one like them. Set
// ContextTimeoutEnabled: otherwise a cancelled call goes on for as long as the client's own timeouts. Keep DialTimeout
// times DialerRetries short: a call without a deadline waits that long for a silent server. Set MaxRetries to -1: then
// a release need not guard against requests that the client repeated, and costs Redis less.
type Client interface {
	redis.Scripter
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	Pipelined(ctx context.Context, f func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

// Locker makes the locks of one Redis. Its locks share one connection for waiting and one for renewals, so a process
// should have one Locker. While nobody holds or waits for a lock, it has no goroutine and no connection of its own.
type Locker struct {
	client   Client
	kinds    kinds
	prefix   string       // escaped
	id       string       // names this Locker in queues
	label    string       // of this process, for State
	repeats  bool         // the client may send a command twice; false only for a plain client with MaxRetries -1
	highest  atomic.Int64 // of all tokens handed out here
	left     atomic.Int64 // abandoned calls of all slots (leave.go)
	obeys    bool         // the client ends a call at its context's deadline
	slow     atomic.Int64 // Unix nanoseconds until which Redis counts as slow
	watchdog watchdog
	pubsub   pubsub
	prompt   *sends
	several  bool     // the client may talk to more than one server
	slots    sync.Map // of *slot, by high-water key; "" if there is only one server
}

// New returns a Locker whose keys start with the prefix. Braces in the prefix are escaped. State labels its holds with
// the host's name and the process's number. New makes no call. It refuses with ErrInvalidClient what cannot serve all
// keys of a lock through one subscription: nil, a redis.Ring, and whatever else panics when it is to subscribe.
func New(client Client, prefix string) (*Locker, error) {
	if err := subscribes(client); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	l := &Locker{
		client: client, kinds: newKinds(), prefix: escape(prefix), id: uuid.NewString(), repeats: true, several: true,
	}
	l.label = fmt.Sprintf("%s/%d", strings.Join(strings.Fields(host), "-"), os.Getpid())
	if c, plain := client.(interface{ Options() *redis.Options }); plain {
		l.several = false
		l.obeys = c.Options().ContextTimeoutEnabled
		l.repeats = c.Options().MaxRetries != 0 // go-redis stores MaxRetries -1 as 0
	}
	l.watchdog.client = client
	l.pubsub.client = client
	l.prompt = l.newSends(promptTime, promptSends, true)
	return l, nil
}

// subscribes returns an error if the client panics when it is to open a subscription without channels, which does not
// connect yet. A waiter would open it in a goroutine where nobody recovers.
func subscribes(client Client) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %T: %v", ErrInvalidClient, client, r)
		}
	}()
	return client.Subscribe(context.Background()).Close()
}

// sawToken remembers the highest token. The next one will be higher even if Redis loses the high water and its clock
// goes back.
func (l *Locker) sawToken(token int64) {
	for {
		highest := l.highest.Load()
		if token <= highest || l.highest.CompareAndSwap(highest, token) {
			return
		}
	}
}

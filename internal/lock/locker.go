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

// Client is what the package needs of Redis; every redis.UniversalClient has it. Set ContextTimeoutEnabled: otherwise a
// call that was given up goes on for as long as the client's own timeouts. Keep DialTimeout times DialerRetries short:
// a call without a deadline waits that long for a server that is silent. Set MaxRetries to -1: a release then need not
// remember requests that the client may have repeated, and costs Redis less.
type Client interface {
	redis.Scripter
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	Pipelined(ctx context.Context, f func(redis.Pipeliner) error) ([]redis.Cmder, error)
}

// Locker hands out the locks of one Redis. Its locks share one connection for waiting and one for renewals, so a
// process should have one Locker for all of them. It has no goroutine and no connection of its own while nobody holds
// or waits.
type Locker struct {
	client   Client
	kinds    kinds
	prefix   string       // escaped
	id       string       // names it in queues
	label    string       // of its process, for State
	repeats  bool         // the client may send a command more than once: all do, but a plain one that was told not to
	highest  atomic.Int64 // of all tokens that were handed out here
	left     atomic.Int64 // calls of all slots that go on though nobody waits for them
	obeys    bool         // the client ends a call at its context's deadline
	slow     atomic.Int64 // until when answers are not expected at once, Unix nanoseconds
	watchdog watchdog
	pubsub   pubsub
	prompt   *sends
	several  bool     // the client may ask more than one server
	slots    sync.Map // of *slot, by the key of its high water; of one server all are the slot ""
}

// New returns a locker whose keys start with the prefix. Braces in the prefix are escaped. Its holds are labelled with
// the names of the host and the number of the process.
func New(client Client, prefix string) *Locker {
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
		l.repeats = c.Options().MaxRetries != 0 // a client's own options say 0 where New was given -1
	}
	l.watchdog.client = client
	l.pubsub.client = client
	l.prompt = l.newSends(promptTime, promptSends, true)
	return l
}

// sawToken remembers the highest token: the next one is higher, whatever became of the high water and the clock in
// Redis.
func (l *Locker) sawToken(token int64) {
	for {
		highest := l.highest.Load()
		if token <= highest || l.highest.CompareAndSwap(highest, token) {
			return
		}
	}
}

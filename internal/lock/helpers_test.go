package lock_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/testkit"
)

// soon is far more than anything here should take, and far less than the default lease, after which a bug in waking
// would be hidden.
const soon = 20 * time.Second

// unaided is what a waiter who was told takes at most. One who was not looks after 4 s by themselves.
const unaided = 3 * time.Second

// stage is where a row is played: a kind of lock, on a Redis, under a prefix of its own.
type stage struct {
	kind   kind
	client redis.UniversalClient
	prefix string
}

// onOwnServer returns the stage on a Redis of its own, which the test may kill.
func (s stage) onOwnServer(t *testing.T) (stage, *testkit.RedisServer) {
	t.Helper()
	server := testkit.StartRedis(t)
	return stage{s.kind, server.Client(), ""}, server
}

// rivals returns the stage as those see it whom the kind excludes.
func (s stage) rivals() stage {
	if s.kind.rival != "" {
		s.kind = kindOf(s.kind.rival)
	}
	return s
}

// lock returns the lock "m" as a new owner in another process would see it.
func (s stage) lock(opts ...lock.Option) aLock { return s.through(s.client, opts...) }

// through is lock with a client of its own.
func (s stage) through(c lock.Client, opts ...lock.Option) aLock {
	return s.kind.open(lock.New(c, s.prefix), "m", lock.NewOwner(), opts...)
}

// state asks who has the lock.
func (s stage) state(t *testing.T) lock.State {
	t.Helper()
	state, err := s.lock().State(t.Context())
	if err != nil {
		t.Fatalf("State: %v", err)
	}
	return state
}

// owner returns who has the lock, "" for nobody.
func (s stage) owner(t *testing.T) lock.Owner {
	t.Helper()
	state := s.state(t)
	if !state.IsLocked() {
		return ""
	}
	return state.Holders[0].Owner
}

// keys returns what is in Redis under the prefix.
func (s stage) keys(t *testing.T) []string {
	t.Helper()
	keys, err := s.client.Keys(t.Context(), s.prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// remains returns the keys of locks and queues: all but those that remember what was, as a mutex's does after a
// release.
func (s stage) remains(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, key := range s.keys(t) {
		_, rest, _ := strings.Cut(key, "{lock:")
		_, rest, _ = strings.Cut(rest, "}")
		switch kind, _, _ := strings.Cut(strings.TrimPrefix(rest, ":"), ":"); {
		case rest == "", uuid.Validate(kind) == nil: // high water, latch
		case strings.HasPrefix(s.client.Get(t.Context(), key).Val(), "-"):
		case strings.HasSuffix(kind, "-reads"): // goes with the holds that it counts
		default:
			found = append(found, key)
		}
	}
	return found
}

// wantKeys fails unless so many keys of locks and queues are there.
func (s stage) wantKeys(t *testing.T, when string, n int) {
	t.Helper()
	least := n
	if s.kind.name == "Redlock" { // a busy machine may have given it a majority alone
		least = (n + 1) / 2
	}
	right := func(found []string) bool { return len(found) >= least && len(found) <= n }
	if s.kind.parts > 0 { // a member that nobody waited for may be on its way out
		eventually(t, "left with the right keys", func() bool { return right(s.remains(t)) })
	}
	if found := s.remains(t); !right(found) {
		t.Errorf("%s: %q, want %d keys", when, found, n)
	}
}

// highWater returns the key of the highest token.
func (s stage) highWater(t *testing.T) string {
	t.Helper()
	return s.highWaters(t)[0]
}

// highWaters returns the keys of the highest tokens, of all members.
func (s stage) highWaters(t *testing.T) []string {
	t.Helper()
	keys := slices.DeleteFunc(s.keys(t), func(key string) bool { return !strings.HasSuffix(key, "}") })
	if len(keys) == 0 {
		t.Fatal("there is no high water of tokens")
	}
	return keys
}

// channels returns the channels of locks under the prefix that somebody listens to.
func (s stage) channels(t *testing.T) []string {
	t.Helper()
	channels, err := s.client.PubSubChannels(t.Context(), s.prefix+"*").Result()
	if err != nil {
		t.Fatalf("PUBSUB CHANNELS: %v", err)
	}
	return channels
}

// nobodyListens waits until the last subscription has ended.
func (s stage) nobodyListens(t *testing.T) {
	t.Helper()
	eventually(t, "rid of subscriptions", func() bool { return len(s.channels(t)) == 0 })
}

// lockAsync calls Lock in the background and returns when it listens for releases, as the only one.
func (s stage) lockAsync(ctx context.Context, t *testing.T, l aLock) <-chan locked {
	t.Helper()
	s.nobodyListens(t)
	got := make(chan locked, 1)
	wait := func() {
		h, err := l.Lock(ctx)
		got <- locked{h, err, time.Now()}
	}
	go wait()
	eventually(t, "waiting", func() bool {
		select {
		case early := <-got:
			// A majority may be silent on a busy machine.
			if s.kind.name == "Redlock" && early.err != nil && ctx.Err() == nil {
				t.Logf("again, after %v", early.err)
				go wait()
			} else {
				got <- early
			}
		default:
		}
		return len(s.channels(t)) == 1
	})
	return got
}

// locked is what a call of Lock or TryLock returned.
type locked struct {
	hold aHold
	err  error
	at   time.Time
}

// aLock is a lock of any kind, one that is made of others as well.
type aLock = taker[aHold]

// taker is what all locks can do, with holds of their own type.
type taker[H any] interface {
	TryLock(ctx context.Context) (H, error)
	Lock(ctx context.Context) (H, error)
	Do(ctx context.Context, f func(ctx context.Context, h H) error) error
	TryDo(ctx context.Context, f func(ctx context.Context, h H) error) error
	State(ctx context.Context) (lock.State, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// aHold is a hold of such a lock.
type aHold interface {
	lived
	Owner() lock.Owner
	Token() int64
	Refresh(ctx context.Context) error
	Release(ctx context.Context) error
}

// lived is what a hold says about its end.
type lived interface {
	Lost() <-chan struct{}
	Err() error
	ValidUntil() time.Time
	Context(parent context.Context) (context.Context, context.CancelFunc)
}

// same makes one type of all locks.
type same[H aHold] struct{ taker[H] }

func (s same[H]) TryLock(ctx context.Context) (aHold, error) { return orNil(s.taker.TryLock(ctx)) }

func (s same[H]) Lock(ctx context.Context) (aHold, error) { return orNil(s.taker.Lock(ctx)) }

func (s same[H]) Do(ctx context.Context, f func(ctx context.Context, h aHold) error) error {
	return s.taker.Do(ctx, func(ctx context.Context, h H) error { return f(ctx, h) })
}

func (s same[H]) TryDo(ctx context.Context, f func(ctx context.Context, h aHold) error) error {
	return s.taker.TryDo(ctx, func(ctx context.Context, h H) error { return f(ctx, h) })
}

// orNil returns no hold beside an error.
func orNil[H aHold](h H, err error) (aHold, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

// one is a lock that is not made of others.
func one(l *lock.Lock) aLock { return same[*lock.Hold]{l} }

// several is one that is.
func several(l *group.Lock) aLock { return same[*group.Hold]{l} }

// waitsFor is what mustLock needs of a lock.
type waitsFor[H any] interface {
	Lock(ctx context.Context) (H, error)
}

func mustLock[H aHold](t *testing.T, l waitsFor[H]) H {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	h, err := l.Lock(ctx)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return h
}

func mustRelease(t *testing.T, h aHold) {
	t.Helper()
	if err := h.Release(t.Context()); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func mustReceive(t *testing.T, waiting <-chan locked) locked {
	t.Helper()
	got := receive(t, "lock", waiting)
	if got.err != nil {
		t.Fatalf("Lock: %v", got.err)
	}
	return got
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// quickly fails unless something takes no longer than unaided at one of three tries.
func quickly(t *testing.T, what string, do func()) {
	t.Helper()
	within(t, unaided, what, func() time.Duration {
		begin := time.Now()
		do()
		return time.Since(begin)
	})
}

// within fails unless something took no longer than the limit at one of three tries: a busy machine stops a process
// now and then, and what should not happen takes longer each time.
func within(t *testing.T, limit time.Duration, what string, took func() time.Duration) {
	t.Helper()
	best := took()
	for try := 1; try < 3 && best > limit; try++ {
		best = min(best, took())
	}
	if best > limit {
		t.Errorf("%s took %v, want %v at most", what, best, limit)
	}
}

// eventually waits for something that Redis does on its own, such as noticing that a connection is gone.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within %v", what, soon)
		}
	}
}

// receive waits for what a channel brings, at most soon.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	var v T
	select {
	case v = <-c:
	case <-time.After(soon):
		t.Fatalf("no %s within %v", what, soon)
	}
	return v
}

// ownClient returns a client of the same server with connections of its own.
func ownClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

// unhurried returns a client that waits for each answer, however long it takes, and asks once.
func (s stage) unhurried(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: redisAddr(s.client), MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadTimeout: -1, WriteTimeout: -1, DialTimeout: time.Minute, PoolTimeout: time.Minute,
	})
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

// viaProxy returns a client that reaches the stage's shared Redis through a proxy. The scripts are known to Redis, so
// that each call is one request.
func (s stage) viaProxy(t *testing.T) (*testkit.Proxy, *redis.Client) {
	t.Helper()
	p := testkit.NewProxy(t, testkit.RedisAddr(t))
	warm := s
	warm.prefix += "warm:"
	mustRelease(t, mustLock(t, warm.lock()))
	return p, ownClient(t, p.Addr)
}

// spy counts what a client asks, and can act around it.
type spy struct {
	lock.Client
	scripts         atomic.Int64 // single ones
	answers         atomic.Int64 // to these
	pipelines       atomic.Int64
	renewals        atomic.Int64 // scripts in pipelines, also those of calls that share one
	leases          atomic.Int64 // those of them that renew a hold
	subscriptions   atomic.Int64 // connections
	repeats         bool         // the client is taken for one that repeats commands
	beforeSubscribe func()
	failScript      func() error // nil: the script is sent
	failPipeline    func() error // the same for pipelines
	losePipelines   int64        // so many, the first ones, are done, and their answers lost
	lost            atomic.Int64 // answers, in these
	afterScript     func()
	unhurried       bool // no call ends at a deadline, so that none is asked twice on a busy machine
}

// quiet reports whether nothing is asked for a while: a waiter looks once more when he is subscribed, and then waits.
func (s *spy) quiet() bool {
	before := s.scripts.Load() + s.renewals.Load()
	time.Sleep(200 * time.Millisecond)
	return s.scripts.Load()+s.renewals.Load() == before
}

// settled returns when a waiter that is alone has looked twice, as it must, and been answered, since the count was n.
func (s *spy) settled(t *testing.T, n int64) {
	t.Helper()
	eventually(t, "waiting", func() bool { return s.answers.Load() >= n+2 })
	eventually(t, "quiet", s.quiet)
}

// Options returns those of the client, which say whether it repeats commands.
func (s *spy) Options() *redis.Options {
	if c, ok := s.Client.(*redis.Client); ok && !s.repeats {
		return c.Options()
	}
	return &redis.Options{MaxRetries: 1, ContextTimeoutEnabled: s.unhurried}
}

func (s *spy) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	s.scripts.Add(1)
	if s.failScript != nil {
		if err := s.failScript(); err != nil {
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(err)
			return cmd
		}
	}
	if s.unhurried {
		ctx = context.WithoutCancel(ctx)
	}
	cmd := s.Client.EvalSha(ctx, sha, keys, args...)
	s.answers.Add(1)
	if s.afterScript != nil {
		s.afterScript()
	}
	return cmd
}

// Eval gives Redis the text of a script that it does not know.
func (s *spy) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	if s.unhurried {
		ctx = context.WithoutCancel(ctx)
	}
	return s.Client.Eval(ctx, script, keys, args...)
}

func (s *spy) Pipelined(ctx context.Context, f func(redis.Pipeliner) error) ([]redis.Cmder, error) {
	n := s.pipelines.Add(1)
	if s.unhurried {
		ctx = context.WithoutCancel(ctx)
	}
	var failed error
	if s.failPipeline != nil {
		failed = s.failPipeline()
	}
	if failed != nil {
		over, cancel := context.WithCancel(ctx)
		cancel()
		ctx = over // nothing is sent, which nobody can know
	}
	cmds, err := s.Client.Pipelined(ctx, f)
	s.renewals.Add(int64(len(cmds)))
	for _, cmd := range cmds {
		if lock.IsRenewal(cmd) {
			s.leases.Add(1)
		}
	}
	if failed == nil && n <= s.losePipelines {
		failed = io.ErrUnexpectedEOF
		s.lost.Add(int64(len(cmds)))
	}
	if failed == nil {
		return cmds, err
	}
	for _, cmd := range cmds {
		cmd.SetErr(failed)
	}
	return cmds, failed
}

func (s *spy) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	s.subscriptions.Add(1)
	if s.beforeSubscribe != nil {
		s.beforeSubscribe()
	}
	return s.Client.Subscribe(ctx, channels...)
}

// proxied returns a proxy to the Redis at addr, and a client that goes through it.
func proxied(t *testing.T, addr string) (*testkit.Proxy, *redis.Client) {
	t.Helper()
	p := testkit.NewProxy(t, addr)
	return p, ownClient(t, p.Addr)
}

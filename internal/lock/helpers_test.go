package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
	"seckill/internal/lock/internal/member"
	"seckill/internal/testkit"
)

// soon is a generous time limit. It is far below the default lease, which would free a lock and so hide a missing
// wake-up.
const soon = 20 * time.Second

// unaided is the longest time in which a notified waiter gets the lock. Without a notification it asks after 4 s.
const unaided = 3 * time.Second

// stage is where a row runs: a kind of lock, on a Redis, under its own prefix.
type stage struct {
	kind   kind
	client redis.UniversalClient
	prefix string
}

// onOwnServer returns the stage on its own Redis, which the test may kill.
func (s stage) onOwnServer(t *testing.T) (stage, *testkit.RedisServer) {
	t.Helper()
	server := testkit.StartRedis(t)
	return stage{s.kind, server.Client(), ""}, server
}

// rivals returns the stage for the kind that this kind excludes.
func (s stage) rivals() stage {
	if s.kind.rival != "" {
		s.kind = kindOf(s.kind.rival)
	}
	return s
}

// lock returns the lock "m" as another process with a new owner has it.
func (s stage) lock(opts ...lock.Option) aLock { return s.through(s.client, opts...) }

// through is lock with the given client.
func (s stage) through(c lock.Client, opts ...lock.Option) aLock {
	return s.kind.open(newLocker(c, s.prefix), "m", lock.NewOwner(), opts...)
}

// newLocker is lock.New for a client that is fit for locks.
func newLocker(c lock.Client, prefix string) *lock.Locker {
	if w, ok := c.(*spy); ok { // New opens a subscription, and closes it unused
		w.unused.Store(true)
		defer w.unused.Store(false)
	}
	l, err := lock.New(c, prefix)
	if err != nil {
		panic(err)
	}
	return l
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

// keys returns the keys in Redis under the prefix.
func (s stage) keys(t *testing.T) []string {
	t.Helper()
	keys, err := s.client.Keys(t.Context(), s.prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// remains returns the keys of locks and queues, without those that only remember the past, as a mutex's key does after
// a release.
func (s stage) remains(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, key := range s.keys(t) {
		_, rest, _ := strings.Cut(key, "{lock:")
		_, rest, _ = strings.Cut(rest, "}")
		switch kind, _, _ := strings.Cut(strings.TrimPrefix(rest, ":"), ":"); {
		case rest == "", uuid.Validate(kind) == nil: // high water, latch
		case strings.HasPrefix(s.client.Get(t.Context(), key).Val(), "-"):
		case strings.HasSuffix(kind, "-reads"): // ends with the holds that it counts
		default:
			found = append(found, key)
		}
	}
	return found
}

// wantKeys fails unless the number of keys of locks and queues is n.
func (s stage) wantKeys(t *testing.T, when string, n int) {
	t.Helper()
	least := n
	if s.kind.name == "Redlock" { // on a busy machine only a majority may have been taken
		least = (n + 1) / 2
	}
	right := func(found []string) bool { return len(found) >= least && len(found) <= n }
	if s.kind.parts > 0 { // a late member may not be released yet
		eventually(t, "left with the right keys", func() bool { return right(s.remains(t)) })
	}
	// On a busy machine a place is given up after the wait has ended. One that is not given up lasts longer than this.
	for end := time.Now().Add(waitSlot / 2); !right(s.remains(t)) && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
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

// highWaters returns the high-water keys of all members.
func (s stage) highWaters(t *testing.T) []string {
	t.Helper()
	keys := slices.DeleteFunc(s.keys(t), func(key string) bool { return !strings.HasSuffix(key, "}") })
	if len(keys) == 0 {
		t.Fatal("there is no high water of tokens")
	}
	return keys
}

// channels returns the subscribed channels of locks under the prefix.
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

// lockAsync calls Lock in the background and returns once it is subscribed to releases, as the only waiter, or has its
// answer already: a busy machine may let a lease run out before that.
func (s stage) lockAsync(ctx context.Context, t *testing.T, l aLock) <-chan locked {
	t.Helper()
	s.nobodyListens(t)
	got := make(chan locked, 1)
	go func() {
		h, err := insist(ctx, l)
		got <- locked{h, err, time.Now()}
	}()
	eventually(t, "waiting", func() bool { return len(got) > 0 || len(s.channels(t)) == 1 })
	return got
}

// locked is what a call of Lock or TryLock returned.
type locked struct {
	hold aHold
	err  error
	at   time.Time
}

// aLock is a lock of any kind, combined ones included.
type aLock = taker[aHold]

// taker has the methods of all locks, with holds of type H.
type taker[H any] interface {
	TryLock(ctx context.Context) (H, error)
	Lock(ctx context.Context) (H, error)
	Do(ctx context.Context, f func(ctx context.Context, h H) error) error
	TryDo(ctx context.Context, f func(ctx context.Context, h H) error) error
	State(ctx context.Context) (lock.State, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// aHold is a hold of any kind of lock.
type aHold interface {
	lived
	Owner() lock.Owner
	Token() int64
	Refresh(ctx context.Context) error
	Release(ctx context.Context) error
}

// lived is the part of a hold that tells when and why it ends.
type lived interface {
	Lost() <-chan struct{}
	Err() error
	ValidUntil() time.Time
	Context(parent context.Context) (context.Context, context.CancelFunc)
}

// same gives locks of all kinds one type.
type same[H aHold] struct{ taker[H] }

func (s same[H]) TryLock(ctx context.Context) (aHold, error) { return orNil(s.taker.TryLock(ctx)) }

func (s same[H]) Lock(ctx context.Context) (aHold, error) { return orNil(s.taker.Lock(ctx)) }

func (s same[H]) Do(ctx context.Context, f func(ctx context.Context, h aHold) error) error {
	return s.taker.Do(ctx, func(ctx context.Context, h H) error { return f(ctx, h) })
}

func (s same[H]) TryDo(ctx context.Context, f func(ctx context.Context, h aHold) error) error {
	return s.taker.TryDo(ctx, func(ctx context.Context, h H) error { return f(ctx, h) })
}

// orNil turns the typed nil hold that comes with an error into a nil interface.
func orNil[H aHold](h H, err error) (aHold, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

// one wraps a plain lock.
func one(l *lock.Lock) aLock { return same[*lock.Hold]{l} }

// several wraps a combined lock.
func several(l *group.Lock) aLock { return same[*group.Hold]{l} }

// waitsFor is the method of a lock that mustLock needs.
type waitsFor[H any] interface {
	Lock(ctx context.Context) (H, error)
}

func mustLock[H aHold](t *testing.T, l waitsFor[H]) H {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	h, err := insist(ctx, l)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	return h
}

// insist is Lock, repeated within soon while it fails for what the lock cannot help.
func insist[H aHold](ctx context.Context, l waitsFor[H]) (h H, err error) {
	for deadline := time.Now().Add(soon); ; {
		h, err = l.Lock(ctx)
		if !passes(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return h, err
		}
		time.Sleep(10 * time.Millisecond) // a refused dial fails at once
	}
}

// passes reports whether a call failed because a busy machine stopped servers for seconds, or because of a dial before
// the server was started again, whose error a client may return for a moment. A late answer is another matter (row 67).
func passes(err error) bool {
	if op, network := errors.AsType[*net.OpError](err); network && op.Op == "dial" {
		return true
	}
	return errors.Is(err, lock.ErrNoAnswer) && !errors.Is(err, member.ErrLate)
}

// mustNotBeHeld releases a hold that is lost.
func mustNotBeHeld(t *testing.T, what string, h aHold) {
	t.Helper()
	var err error
	eventually(t, "answered", func() bool {
		err = h.Release(t.Context())
		return !passes(err)
	})
	wantErr(t, what, err, lock.ErrNotHeld)
}

// release is Release, repeated once if a busy machine keeps the answer away for three seconds.
func release(t *testing.T, h aHold) error {
	t.Helper()
	err := h.Release(t.Context())
	if errors.Is(err, lock.ErrNoAnswer) {
		t.Logf("Release again, after: %v", err)
		err = h.Release(t.Context())
	}
	return err
}

func mustRelease(t *testing.T, h aHold) {
	t.Helper()
	if err := release(t, h); err != nil {
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

// quickly fails unless do returns within unaided in one of three tries.
func quickly(t *testing.T, what string, do func()) {
	t.Helper()
	within(t, unaided, what, func() time.Duration {
		begin := time.Now()
		do()
		return time.Since(begin)
	})
}

// within fails unless one of three tries stays within the limit; an error would slow all three. It tries a few times
// more while the machine stops this process, and so perhaps Redis.
func within(t *testing.T, limit time.Duration, what string, took func() time.Duration) {
	t.Helper()
	stalled, stop := measureStalls()
	defer stop()
	best := took()
	for try := 1; try < stalledTries && best > limit && (stalled() >= stall || try < 3); try++ {
		best = min(best, took())
	}
	if best > limit {
		t.Errorf("%s took %v, want %v at most", what, best, limit)
	}
}

// stall is how long a pause of this process makes a try meaningless; stalledTries caps the tries.
const stall, stalledTries = 50 * time.Millisecond, 8

// measureStalls returns a function that reports the longest time for which the machine has kept this process from
// running since the previous call.
func measureStalls() (stalled func() time.Duration, stop func()) {
	var longest atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			start := time.Now()
			time.Sleep(time.Millisecond)
			if over := int64(time.Since(start) - time.Millisecond); over > longest.Load() {
				longest.Store(over)
			}
		}
	})
	return func() time.Duration { return time.Duration(longest.Swap(0)) }, func() {
		cancel()
		ended.Wait()
	}
}

// unlessStalled fails if a try fails. If the machine has stopped this process meanwhile, and so perhaps Redis, the try
// says nothing: it is repeated, a few times at most, with leases multiplied by times (1, 2, 4).
func unlessStalled(t *testing.T, try func(times int) error) {
	t.Helper()
	stalled, stop := measureStalls()
	defer stop()
	for n := range stalledTries {
		stalled()
		err := try(min(1<<n, 4))
		if err == nil {
			return
		}
		over := stalled()
		if over < stall || n == stalledTries-1 {
			t.Error(err)
			return
		}
		t.Logf("again, because the machine stalled for %v: %v", over, err)
	}
}

// keeps fails if the lock is lost within that time, and then releases it.
func keeps(t *testing.T, h aHold, long time.Duration) error {
	t.Helper()
	select {
	case <-h.Lost():
		return fmt.Errorf("lost: %w", h.Err())
	case <-time.After(long): // the lock must not be lost
	}
	return release(t, h)
}

// eventually waits until ok, for something that Redis does on its own, such as noticing a closed connection.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s within %v", what, soon)
		}
	}
}

// receive returns the next value of a channel, within soon.
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

// ownClient returns a new client of the same server.
func ownClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() }) // no call is under way
	return c
}

// unhurried returns a client without read timeouts that sends every command once.
func (s stage) unhurried(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: redisAddr(s.client), MaxRetries: -1, ContextTimeoutEnabled: true,
		ReadTimeout: -1, WriteTimeout: -1, DialTimeout: time.Minute, PoolTimeout: time.Minute,
	})
	t.Cleanup(func() { _ = c.Close() }) // no call is under way
	return c
}

// viaProxy returns a client that reaches the stage's shared Redis through a proxy. The scripts are loaded, so that each
// call is one request.
func (s stage) viaProxy(t *testing.T) (*testkit.Proxy, *redis.Client) {
	t.Helper()
	p := testkit.NewProxy(t, testkit.RedisAddr(t))
	warm := s
	warm.prefix += "warm:"
	mustRelease(t, mustLock(t, warm.lock()))
	return p, ownClient(t, p.Addr)
}

// spy counts a client's commands and can inject faults.
type spy struct {
	lock.Client
	scripts         atomic.Int64 // sent alone
	answers         atomic.Int64 // to scripts sent alone
	pipelines       atomic.Int64
	renewals        atomic.Int64 // scripts in pipelines, shared requests included
	leases          atomic.Int64 // renewals of holds among them
	subscriptions   atomic.Int64 // connections
	unused          atomic.Bool  // the next one is not used
	repeats         bool         // the client looks like one that repeats commands
	beforeSubscribe func()
	failScript      func() error // nil: the script is sent; else its error is returned
	failPipeline    func() error // the same for pipelines
	losePipelines   int64        // how many pipelines, from the first, are done but lose their answers
	lost            atomic.Int64 // answers lost in these
	afterScript     func()
	afterPipeline   func()
	unhurried       bool // no deadlines, so that no call is repeated on a busy machine
}

// quiet reports whether nothing was asked for a while: a waiter asks once more after subscribing, and then waits.
func (s *spy) quiet() bool {
	before := s.scripts.Load() + s.renewals.Load()
	time.Sleep(200 * time.Millisecond)
	return s.scripts.Load()+s.renewals.Load() == before
}

// quietSince returns when a lone waiter has been answered twice since the count was n: its try, and the one after it
// subscribed.
func (s *spy) quietSince(t *testing.T, n int64) {
	t.Helper()
	eventually(t, "waiting", func() bool { return s.answers.Load() >= n+2 })
	eventually(t, "quiet", s.quiet)
}

// Options returns the client's options, which say whether it repeats commands.
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

// Eval sends the text of a script that Redis does not know.
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
		ctx = over // so nothing is sent, but the caller cannot know that
	}
	cmds, err := s.Client.Pipelined(ctx, f)
	if s.afterPipeline != nil {
		s.afterPipeline()
	}
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
	if !s.unused.Load() {
		s.subscriptions.Add(1)
		if s.beforeSubscribe != nil {
			s.beforeSubscribe()
		}
	}
	return s.Client.Subscribe(ctx, channels...)
}

// proxied returns a proxy to the Redis at addr, and a client that goes through it.
func proxied(t *testing.T, addr string) (*testkit.Proxy, *redis.Client) {
	t.Helper()
	p := testkit.NewProxy(t, addr)
	return p, ownClient(t, p.Addr)
}

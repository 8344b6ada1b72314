package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

// consumerTests are the behaviour of a partition's stream and its consumers.
var consumerTests = behaviour{
	"next, own, acknowledge":   testNextOwnAcknowledge,
	"nothing there":            testNothingThere,
	"waiting for the first":    testWaitForFirst,
	"group made at the start":  testGroupAtStart,
	"group destroyed":          testGroupDestroyed,
	"stream deleted":           testStreamDeleted,
	"acknowledged twice":       testAcknowledgedTwice,
	"acknowledge many":         testAcknowledgeMany,
	"acknowledge no others":    testAcknowledgeNoOthers,
	"acknowledge, new group":   testAcknowledgeInNewGroup,
	"malformed entries":        testMalformed,
	"dead letter once":         testDeadLetteredOnce,
	"dead letter, many fields": testDeadLetteredManyFields,
	"dead letter fails":        testDeadLetterFails,
	"orphans":                  testOrphans,
	"orphans little by little": testOrphansLittle,
	"stranded entries":         testStranded,
	"stranded behind others":   testStrandedBehind,
	"the living keep theirs":   testLivingKeep,
	"forgotten heartbeats":     testForgottenHeartbeats,
	"leave":                    testLeave,
	"backlog figures":          testBacklogFigures,
}

// queued opens a sale with n accepted orders, each in its own entry.
func (r *rig) queued(n int) {
	r.t.Helper()
	r.open(1, r.hour(int64(n)))
	for user := 1; user <= n; user++ {
		r.admit(requests(int64(user), 1)...)
	}
}

// users returns the entries' users.
func users(entries []order.Entry) []int64 {
	var of []int64
	for _, e := range entries {
		of = append(of, e.Claim.UserID)
	}
	return of
}

func keysOf(entries []order.Entry) []string {
	var ks []string
	for _, e := range entries {
		ks = append(ks, e.Key)
	}
	return ks
}

func (r *rig) next(c *Consumer, n int) []order.Entry {
	r.t.Helper()
	entries, err := c.Next(r.ctx(), n, 0)
	r.must(err)
	return entries
}

func (r *rig) own(c *Consumer, after string, n int) []order.Entry {
	r.t.Helper()
	entries, err := c.Own(r.ctx(), after, n)
	r.must(err)
	return entries
}

func (r *rig) orphans(c *Consumer, n int) []order.Entry {
	r.t.Helper()
	entries, err := c.Orphans(r.ctx(), n)
	r.must(err)
	return entries
}

func (r *rig) acknowledge(c *Consumer, keys ...string) int {
	r.t.Helper()
	n, err := c.Acknowledge(r.ctx(), keys)
	r.must(err)
	return n
}

// consumers returns the names of the group's consumers, sorted.
func (r *rig) consumers() []string {
	r.t.Helper()
	infos, err := r.commands.XInfoConsumers(r.ctx(), r.keys.orders(0), group).Result()
	r.must(err)
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}

func addArgs(r *rig, fields ...any) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: r.keys.orders(0), Values: fields}
}

func testNextOwnAcknowledge(t *testing.T, r *rig) {
	r.queued(5)
	a, b := r.Consumer(0, "a"), r.Consumer(0, "b")
	first := r.next(a, 3)
	equal(t, []int64{1, 2, 3}, users(first))
	equal(t, order.Entry{
		Key: first[0].Key, Claim: order.Claim{OrderID: 1001, UserID: 1, VoucherID: 7, Epoch: 1, Sequence: 1},
	}, first[0])
	equal(t, []int64{4, 5}, users(r.next(b, 3)))
	equal(t, []int64{1, 2}, users(r.own(a, "", 2)))
	equal(t, []int64{2, 3}, users(r.own(a, first[0].Key, 2)))
	equal(t, 0, len(r.own(a, first[2].Key, 2)))
	equal(t, 2, r.acknowledge(a, first[0].Key, first[2].Key))
	equal(t, []int64{2}, users(r.own(a, "", 9)))
	equal(t, 3, len(r.stream()))
}

func testNothingThere(t *testing.T, r *rig) {
	c := r.Consumer(0, "a")
	equal(t, 0, len(r.own(c, "", 5))) // there is no stream
	equal(t, 0, len(r.next(c, 5)))
	equal(t, 0, len(r.own(c, "", 5)))
	equal(t, 0, len(r.orphans(c, 5)))
	equal(t, 0, r.acknowledge(c))
	equal(t, 0, r.acknowledge(c, "1-1"))
	entries, err := c.Next(r.ctx(), 5, 2*time.Millisecond)
	r.must(err)
	equal(t, 0, len(entries))
}

func testWaitForFirst(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	c := r.Consumer(0, "a")
	r.next(c, 1) // creates the group
	got := make(chan []order.Entry, 1)
	go func() {
		defer close(got)
		for {
			entries, err := c.Next(r.ctx(), 5, time.Minute) // is cut to a second
			if err != nil {
				t.Error(err)
				return
			}
			if len(entries) > 0 {
				got <- entries
				return
			}
		}
	}()
	r.admit(requests(1, 1)...)
	equal(t, []int64{1}, users(<-got))
}

// testGroupAtStart: orders that were accepted before the group existed are delivered.
func testGroupAtStart(t *testing.T, r *rig) {
	r.queued(2)
	equal(t, []int64{1, 2}, users(r.next(r.Consumer(0, "a"), 5)))
}

func testGroupDestroyed(t *testing.T, r *rig) {
	for name, first := range map[string]func(*Consumer) []order.Entry{
		"next":    func(c *Consumer) []order.Entry { return r.next(c, 9) },
		"own":     func(c *Consumer) []order.Entry { return append(r.own(c, "", 9), r.next(c, 9)...) },
		"orphans": func(c *Consumer) []order.Entry { return append(r.orphans(c, 9), r.next(c, 9)...) },
	} {
		r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.buyers(r.sale), r.keys.orders(0)).Err())
		r.queued(3)
		a := r.Consumer(0, "a")
		r.acknowledge(a, r.next(a, 1)[0].Key)
		r.next(a, 1)
		r.must(r.commands.XGroupDestroy(r.ctx(), r.keys.orders(0), group).Err())
		// Acknowledging without a group counts nothing, but the entries are recorded, so they may be deleted.
		if diff := cmp.Diff([]int64{2, 3}, users(first(a))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func testStreamDeleted(t *testing.T, r *rig) {
	r.queued(2)
	c := r.Consumer(0, "a")
	r.next(c, 1)
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err())
	equal(t, 0, len(r.own(c, "", 5)))
	equal(t, 0, len(r.next(c, 5)))
	r.set(fieldStock, 5)
	r.admit(requests(30, 1)...)
	equal(t, []int64{30}, users(r.next(c, 5)))
}

func testAcknowledgedTwice(t *testing.T, r *rig) {
	r.queued(3)
	c := r.Consumer(0, "a")
	keys := keysOf(r.next(c, 2))
	equal(t, 2, r.acknowledge(c, keys...))
	equal(t, 0, r.acknowledge(c, keys...))
	equal(t, 1, len(r.stream()))
	equal(t, []int64{3}, users(r.next(c, 5)))
}

func testAcknowledgeMany(t *testing.T, r *rig) {
	r.queued(1100)
	c := r.Consumer(0, "a")
	entries := r.next(c, 1100)
	equal(t, 1100, len(entries))
	equal(t, 1100, r.acknowledge(c, keysOf(entries)...))
	equal(t, 0, len(r.stream()))
}

// left returns the users of the entries in the stream.
func (r *rig) left() []int64 {
	r.t.Helper()
	var of []int64
	for _, c := range r.stream() {
		of = append(of, c.UserID)
	}
	return of
}

// testAcknowledgeNoOthers: entries before, between and after the acknowledged ones stay, whether pending or not
// delivered.
func testAcknowledgeNoOthers(t *testing.T, r *rig) {
	r.queued(9)
	a, b := r.Consumer(0, "a"), r.Consumer(0, "b")
	first, second, third := keysOf(r.next(a, 3)), keysOf(r.next(b, 2)), keysOf(r.next(a, 2))
	equal(t, 2, r.acknowledge(b, second...))
	equal(t, []int64{1, 2, 3, 6, 7, 8, 9}, r.left())
	equal(t, 1, r.acknowledge(a, first[0]))
	equal(t, []int64{2, 3, 6, 7, 8, 9}, r.left())
	equal(t, 4, r.acknowledge(a, first[2], third[1], third[0], first[1])) // even out of order
	equal(t, []int64{8, 9}, r.left())
	equal(t, 2, r.acknowledge(b, keysOf(r.next(b, 9))...))
	equal(t, 0, len(r.left()))
}

// testAcknowledgeInNewGroup: a new group has not delivered the entries before one that the old group had delivered.
func testAcknowledgeInNewGroup(t *testing.T, r *rig) {
	r.queued(5)
	a, b := r.Consumer(0, "a"), r.Consumer(0, "b")
	r.next(b, 2)
	mine := keysOf(r.next(a, 2))
	r.must(r.commands.XGroupDestroy(r.ctx(), r.keys.orders(0), group).Err())
	equal(t, 0, len(r.own(b, "", 9))) // creates the group again
	equal(t, 0, r.acknowledge(a, mine[0]))
	equal(t, []int64{1, 2, 4, 5}, r.left())
	equal(t, []int64{1}, users(r.next(b, 1)))
	equal(t, 0, r.acknowledge(a, mine[1]))
	equal(t, []int64{1, 2, 5}, r.left())
	equal(t, []int64{2, 5}, users(r.next(b, 9)))
}

// testMalformed: an entry that cannot be decoded is delivered as malformed, with its fields, together with the others.
func testMalformed(t *testing.T, r *rig) {
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "u", "me", "note", "hand made")).Err())
	r.queued(1)
	c := r.Consumer(0, "a")
	for _, entries := range [][]order.Entry{r.next(c, 5), r.own(c, "", 5)} {
		equal(t, 2, len(entries))
		if entries[0].Malformed == nil {
			t.Error("the first entry was decoded")
		}
		equal(t, map[string]string{"u": "me", "note": "hand made"}, entries[0].Raw)
		equal(t, []int64{0, 1}, users(entries))
	}
}

func testDeadLetteredOnce(t *testing.T, r *rig) {
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "u", "me", "why", "hand made")).Err())
	c := r.Consumer(0, "a")
	entry := r.next(c, 1)[0]
	for range 2 {
		r.must(c.MoveToDeadLetters(r.ctx(), entry))
	}
	letters, err := r.commands.XRange(r.ctx(), r.keys.dead(0), "-", "+").Result()
	r.must(err)
	equal(t, 1, len(letters))
	equal(t, map[string]any{
		"key": entry.Key, "why": entry.Malformed.Error(), "raw.u": "me", "raw.why": "hand made",
	}, letters[0].Values)
	equal(t, 0, len(r.own(c, "", 5)))
	equal(t, 0, r.acknowledge(c, entry.Key))
	n, err := r.commands.XLen(r.ctx(), r.keys.orders(0)).Result()
	r.must(err)
	equal(t, int64(0), n)
}

// testDeadLetteredManyFields: a dead letter keeps as many fields as it has room for and says how many were left out.
func testDeadLetteredManyFields(t *testing.T, r *rig) {
	for _, n := range []int{1000, 1001, 20_000} {
		fields := make([]any, 0, 2*n)
		for i := range n {
			fields = append(fields, fmt.Sprintf("f%05d", i), i)
		}
		r.must(r.commands.Del(r.ctx(), r.keys.dead(0)).Err())
		r.must(r.commands.XAdd(r.ctx(), addArgs(r, fields...)).Err())
		c := r.Consumer(0, "a")
		r.must(c.MoveToDeadLetters(r.ctx(), r.next(c, 1)[0]))
		letters, err := r.commands.XRange(r.ctx(), r.keys.dead(0), "-", "+").Result()
		r.must(err)
		letter := letters[0].Values
		var leftOut any // nil: no field is left out
		size := 2 + n
		if n > 1000 {
			leftOut, size = strconv.Itoa(n-1000), 2+1000+1
		}
		equal(t, []any{size, leftOut, "0", "999"},
			[]any{len(letter), letter["left_out"], letter["raw.f00000"], letter["raw.f00999"]})
		equal(t, 0, len(r.own(c, "", 5)))
	}
}

// testDeadLetterFails: an entry stays if its dead letter cannot be written.
func testDeadLetterFails(t *testing.T, r *rig) {
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "x", "y")).Err())
	r.must(r.commands.Set(r.ctx(), r.keys.dead(0), "not a stream", 0).Err())
	c := r.Consumer(0, "a")
	entry := r.next(c, 1)[0]
	if err := c.MoveToDeadLetters(r.ctx(), entry); err == nil {
		t.Error("a dead letter was written into a string")
	}
	equal(t, 1, len(r.own(c, "", 5)))
	r.must(r.commands.Del(r.ctx(), r.keys.dead(0)).Err())
	r.must(c.MoveToDeadLetters(r.ctx(), entry))
	equal(t, 0, len(r.own(c, "", 5)))
}

// testOrphans: the asking consumer takes a dead consumer's entries, whose name is removed when it has none left. A
// consumer with a heartbeat, or that has just read, keeps its own.
func testOrphans(t *testing.T, r *rig) {
	r.queued(6)
	dead, silent, me := r.Consumer(0, "dead"), r.Consumer(0, "silent"), r.Consumer(0, "me")
	r.must(dead.Heartbeat(r.ctx()))
	r.next(dead, 2)
	r.next(silent, 1) // died before its first heartbeat
	mine := r.next(me, 1)
	if r.mini == nil { // miniredis does not know when a consumer read
		after := r.options.OrphanAfter
		r.options.OrphanAfter = time.Hour
		equal(t, 0, len(r.orphans(me, 10)))
		r.options.OrphanAfter = after
	}
	r.pass(60 * time.Millisecond)
	r.must(me.Heartbeat(r.ctx()))
	r.orphans(me, 10)
	equal(t, []int64{1, 2, 3, 4}, users(r.own(me, "", 10)))
	equal(t, []string{"me"}, r.consumers())
	equal(t, 4, r.acknowledge(me, append(keysOf(r.own(me, "", 10)), mine[0].Key)...))
	// Nothing is left to take over, from others or from itself.
	r.pass(60 * time.Millisecond)
	equal(t, 0, len(r.orphans(me, 10)))
	equal(t, []string{"me"}, r.consumers())
	equal(t, []int64{5, 6}, users(r.next(me, 10)))
}

func testOrphansLittle(t *testing.T, r *rig) {
	r.queued(5)
	r.next(r.Consumer(0, "dead"), 4)
	r.next(r.Consumer(0, "dead too"), 1)
	r.pass(60 * time.Millisecond)
	me := r.Consumer(0, "me")
	equal(t, []int64{1, 2, 3}, users(r.orphans(me, 3)))
	equal(t, []string{"dead", "dead too", "me"}, r.consumers())
	equal(t, []int64{4, 5}, users(r.orphans(me, 3)))
	equal(t, []string{"me"}, r.consumers())
}

// remove removes a consumer from the group with all its pending entries, as an operator may do by hand.
func (r *rig) remove(c *Consumer) {
	r.t.Helper()
	r.must(r.commands.XGroupDelConsumer(r.ctx(), r.keys.orders(0), group, c.name).Err())
}

// testStranded: entries whose consumer was removed are taken over at once, as many as requested, and the next ones when
// those are acknowledged.
func testStranded(t *testing.T, r *rig) {
	r.queued(6)
	removed, me := r.Consumer(0, "removed"), r.Consumer(0, "me")
	r.next(removed, 4)
	r.next(me, 1)
	r.remove(removed)
	first := r.orphans(me, 3)
	equal(t, []int64{1, 2, 3}, users(first))
	equal(t, 0, len(r.orphans(me, 3)))
	equal(t, []int64{1, 2, 3, 5}, users(r.own(me, "", 9)))
	equal(t, 3, r.acknowledge(me, keysOf(first)...))
	equal(t, []int64{4}, users(r.orphans(me, 3)))
	equal(t, 2, r.acknowledge(me, keysOf(r.own(me, "", 9))...))
	equal(t, 0, len(r.orphans(me, 3))) // the sixth was never delivered
	equal(t, []int64{6}, users(r.next(me, 3)))
	r.remove(me)
	equal(t, []int64{6}, users(r.orphans(me, 3))) // the last one too
}

// testStrandedBehind: stranded entries survive acknowledgements before and after them, and are then taken over.
func testStrandedBehind(t *testing.T, r *rig) {
	r.queued(8)
	removed, me := r.Consumer(0, "removed"), r.Consumer(0, "me")
	first := keysOf(r.next(me, 2))
	r.next(removed, 2)
	second, third := keysOf(r.next(me, 2)), keysOf(r.next(me, 1))
	r.remove(removed)
	equal(t, 0, len(r.orphans(me, 9)))
	equal(t, 2, r.acknowledge(me, first...))
	equal(t, 2, r.acknowledge(me, second...))
	equal(t, []int64{3, 4, 7, 8}, r.left())
	stranded := r.orphans(me, 9)
	equal(t, []int64{3, 4}, users(stranded))
	equal(t, 2, r.acknowledge(me, keysOf(stranded)...))
	equal(t, 1, r.acknowledge(me, third...))
	equal(t, []int64{8}, r.left())
}

func testLivingKeep(t *testing.T, r *rig) {
	r.queued(3)
	alive, me := r.Consumer(0, "alive"), r.Consumer(0, "me")
	r.next(alive, 2) // and then sends only heartbeats, as during a long transaction
	r.pass(60 * time.Millisecond)
	before := r.now()
	r.must(alive.Heartbeat(r.ctx()))
	got := r.orphans(me, 10)
	if r.now().Sub(before) < 40*time.Millisecond { // otherwise the machine was too slow
		equal(t, 0, len(got))
	}
	// A heartbeat from the future is from before the clock was set back. It counts for as long as Redis says that the
	// consumer has just read.
	r.own(alive, "", 1)
	r.must(r.commands.ZAdd(r.ctx(), r.keys.consumers(0),
		redis.Z{Score: float64(r.now().Add(time.Hour).UnixMilli()), Member: "alive"}).Err())
	r.orphans(me, 10)
	equal(t, []int64{1, 2}, users(r.own(me, "", 10)))
}

// testForgottenHeartbeats: consumers that died before they read anything leave nothing behind.
func testForgottenHeartbeats(t *testing.T, r *rig) {
	r.queued(1)
	me := r.Consumer(0, "me")
	r.next(me, 1)
	for i := range 5 {
		r.must(r.Consumer(0, fmt.Sprint("dead", i)).Heartbeat(r.ctx()))
	}
	r.must(me.Heartbeat(r.ctx()))
	r.pass(60 * time.Millisecond)
	ahead := float64(r.now().Add(time.Hour).UnixMilli()) // the clock was set back since then
	r.must(r.commands.ZAdd(r.ctx(), r.keys.consumers(0), redis.Z{Score: ahead, Member: "dead, ahead"}).Err())
	r.orphans(me, 10)
	names, err := r.commands.ZRange(r.ctx(), r.keys.consumers(0), 0, -1).Result()
	r.must(err)
	equal(t, []string{"me"}, names)
}

func testLeave(t *testing.T, r *rig) {
	c := r.Consumer(0, "a")
	r.must(c.Leave(r.ctx())) // there is no stream
	r.queued(2)
	r.must(c.Leave(r.ctx())) // there is no group
	key := r.next(c, 1)[0].Key
	r.must(c.Heartbeat(r.ctx()))
	r.must(c.Leave(r.ctx()))
	equal(t, []string{"a"}, r.consumers()) // something is pending for it
	n, err := r.commands.ZCard(r.ctx(), r.keys.consumers(0)).Result()
	r.must(err)
	equal(t, int64(0), n)
	equal(t, 1, r.acknowledge(c, key))
	for range 2 {
		r.must(c.Leave(r.ctx()))
		equal(t, 0, len(r.consumers()))
	}
}

func testBacklogFigures(t *testing.T, r *rig) {
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "x", "y")).Err())
	c := r.Consumer(0, "a")
	r.must(c.MoveToDeadLetters(r.ctx(), r.next(c, 1)[0]))
	r.queued(3)
	b, err := r.Backlog(r.ctx(), 0)
	r.must(err)
	equal(t, []int64{3, 1}, []int64{b.Waiting, b.Dead})
	if b.Oldest <= 0 || b.Oldest > time.Minute {
		t.Errorf("the oldest entry has waited for %s", b.Oldest)
	}
}

// TestTrimmedStream: entries that were trimmed while they were pending are noticed (F27).
func TestTrimmedStream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.queued(4)
	dead, me := r.Consumer(0, "dead"), r.Consumer(0, "me")
	r.next(dead, 2)
	r.next(me, 1)
	r.must(r.commands.XTrimMaxLen(r.ctx(), r.keys.orders(0), 1).Err())

	mine := r.own(me, "", 10)
	equal(t, 1, len(mine))
	if !errors.Is(mine[0].Malformed, errEntryGone) {
		t.Errorf("an own entry that was trimmed: %v", mine[0].Malformed)
	}
	r.must(me.MoveToDeadLetters(r.ctx(), mine[0]))
	equal(t, 0, len(r.own(me, "", 10)))

	r.pass(60 * time.Millisecond)
	raw, err := r.scripts.takeOver.Run(r.ctx(), r.commands, me.streamAndConsumers(), group, "me", 10, 50)
	r.must(err)
	got, err := readOrphans(raw, 0)
	r.must(err)
	equal(t, 0, len(got.entries))
	equal(t, 2, len(got.gone))
	equal(t, []string{"dead"}, got.removed)
	equal(t, []int64{4}, users(r.next(me, 10)))
}

// TestBlockedReadLosesGroup: a consumer that waits while the group or the stream is deleted goes on with a new group.
func TestBlockedReadLosesGroup(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*rig) error{
		"group":  func(r *rig) error { return r.commands.XGroupDestroy(r.ctx(), r.keys.orders(0), group).Err() },
		"stream": func(r *rig) error { return r.commands.Del(r.ctx(), r.keys.orders(0)).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, testkit.StartRedis(t))
			r.open(1, r.hour(5))
			c := r.Consumer(0, "a")
			r.next(c, 1)
			result := make(chan error, 1)
			var removed atomic.Bool
			go func() {
				var err error
				for !removed.Load() && err == nil { // a read ends after a second
					_, err = c.Next(r.ctx(), 5, time.Second)
				}
				result <- err
			}()
			awaitBlocked(t, r)
			r.must(remove(r))
			removed.Store(true)
			r.must(<-result)
			r.admit(requests(1, 1)...)
			equal(t, []int64{1}, users(r.next(c, 5)))
		})
	}
}

// awaitBlocked waits until a client of the rig's own server waits in a blocking read.
func awaitBlocked(t *testing.T, r *rig) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		info, err := r.commands.Info(r.ctx(), "clients").Result()
		r.must(err)
		if strings.Contains(info, "blocked_clients:1") {
			return
		}
	}
	t.Fatal("no client waits")
}

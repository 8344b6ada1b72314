package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// TestUnpack: what can be read of a packed entry is read, whatever else is in it; and what cannot is one entry more.
func TestUnpack(t *testing.T) {
	t.Parallel()
	claim := func(voucher, user, epoch, sequence int64, q order.Quantity) order.Claim {
		return order.Claim{OrderID: user + 1000, UserID: user, VoucherID: voucher, Epoch: epoch, Sequence: sequence, Quantity: q}
	}
	for _, c := range []struct {
		name, count, packed string
		claims              []order.Claim
		left, why           string // of what cannot be read
	}{
		{
			"one sale", "3", "7 2 41 1 1001 2 1002:3 3 1003",
			[]order.Claim{claim(7, 1, 2, 41, 0), claim(7, 2, 2, 42, order.QuantityOf(3)), claim(7, 3, 2, 43, 0)},
			"", "",
		},
		{
			"two sales", "3", "7 2 41 1 1001;8 1 5 1 1001 2 1002",
			[]order.Claim{claim(7, 1, 2, 41, 0), claim(8, 1, 1, 5, 0), claim(8, 2, 1, 6, 0)},
			"", "",
		},
		{"no mark", "2", "7 0 0 1 1001 2 1002", []order.Claim{claim(7, 1, 0, 0, 0), claim(7, 2, 0, 0, 0)}, "", ""},
		{
			"an order that is none", "3", "7 2 41 1 1001 2 x 3 1003",
			[]order.Claim{claim(7, 1, 2, 41, 0), claim(7, 3, 2, 43, 0)},
			"7 2 42 2 x", `"x", which is no order`,
		},
		{"a user that is none", "2", "7 2 41 0 1001 2 1002", []order.Claim{claim(7, 2, 2, 42, 0)}, "7 2 41 0 1001", "0, below 1"},
		{
			"a sale that is none", "3", "me 2 41 1 1001;8 1 5 1 1001 2 1002",
			[]order.Claim{claim(8, 1, 1, 5, 0), claim(8, 2, 1, 6, 0)},
			"me 2 41 1 1001", "invalid syntax",
		},
		{"half an order", "1", "7 2 41 1", nil, "7 2 41 1", "no sale with its orders"},
		{"no order", "1", "7 2 41", nil, "7 2 41", "no sale with its orders"},
		{"nothing", "0", "", nil, "", "no sale with its orders"},
		{"fewer than it says", "3", "7 2 41 1 1001", []order.Claim{claim(7, 1, 2, 41, 0)}, "7 2 41 1 1001", `"n" is "3", but field "p" has 1`},
		{"too many units", "1", "7 2 41 1 1001:99", nil, "7 2 41 1 1001:99", "no order"},
	} {
		entries := appendEntries(nil, 3, redis.XMessage{ID: "1-1", Values: map[string]any{"n": c.count, "p": c.packed}})
		var claims []order.Claim
		var broken []order.Entry
		for _, e := range entries {
			equal(t, []any{"1-1", 3}, []any{e.Key, e.Partition})
			if e.Malformed == nil {
				claims = append(claims, e.Claim)
			} else {
				broken = append(broken, e)
			}
		}
		equal(t, c.claims, claims)
		switch {
		case c.why == "" && len(broken) == 0:
		case len(broken) != 1 || c.why == "" || !strings.Contains(broken[0].Malformed.Error(), c.why):
			t.Errorf("%s: unreadable %v, want %q", c.name, broken, c.why)
		default:
			equal(t, map[string]string{"n": c.count, "p": c.left}, broken[0].Raw)
		}
	}
}

// packedTests are how packed entries are read.
var packedTests = behaviour{
	"packed: recorded":      testPackedRecorded,
	"packed: counted":       testPackedCounted,
	"packed: a dead letter": testPackedDeadLetter,
	"packed: taken over":    testPackedTakenOver,
	"packed: retired":       testPackedRetired,
}

// pack replaces what the stream has by packed entries of so many orders each, as a later version would have written them.
func (r *rig) pack(sizes ...int) {
	r.t.Helper()
	claims := r.stream()
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0)).Err())
	for _, n := range sizes {
		var text strings.Builder
		for i, c := range claims[:n] {
			if i == 0 || c.VoucherID != claims[i-1].VoucherID {
				fmt.Fprintf(&text, ";%d %d %d", c.VoucherID, c.Epoch, c.Sequence)
			}
			fmt.Fprintf(&text, " %d %v", c.UserID, heldArgument(c.Held()))
		}
		r.addPacked(n, text.String()[1:])
		claims = claims[n:]
	}
}

func (r *rig) addPacked(n int, text string) string {
	r.t.Helper()
	id, err := r.commands.XAdd(r.ctx(), addArgs(r, "n", n, "p", text)).Result()
	r.must(err)
	r.must(r.commands.IncrBy(r.ctx(), r.keys.packed(0), int64(n-1)).Err())
	return id
}

// counted is how many orders the stream has, as figures and the gate count them; -1 where these differ.
func (r *rig) counted() int64 {
	r.t.Helper()
	b, err := r.Backlog(r.ctx(), 0)
	r.must(err)
	user := r.now().UnixNano() // who asks, and is let in if it is not refused
	at := func(limit int64) string {
		user++
		return codes(r.admitBatch(order.Batch{MaxBacklog: limit, Requests: []order.Request{{UserID: user, OrderID: 0}, {UserID: user, OrderID: user}}}).Results)[1]
	}
	if b.Waiting > 0 && at(b.Waiting) != "10" {
		return -1
	}
	return b.Waiting
}

// missing reports whether there is no such key.
func (r *rig) missing(key string) bool {
	r.t.Helper()
	n, err := r.commands.Exists(r.ctx(), key).Result()
	r.must(err)
	return n == 0
}

func testPackedRecorded(t *testing.T, r *rig) {
	r.queued(6)
	r.set("stock", 5)
	r.pack(3, 1, 2)
	c := r.Consumer(0, "a")
	entries := r.next(c, 2)
	equal(t, []int64{1, 2, 3, 4}, users(entries))
	equal(t, entries[0].Key, entries[2].Key)
	rest := r.next(c, 5)
	equal(t, []int64{5, 6}, users(rest))
	equal(t, []int64{5, 6}, users(r.own(c, entries[3].Key, 5)))
	equal(t, []int64{1, 2, 3}, users(r.own(c, "", 1)))
	equal(t, int64(6), r.counted())
	for range 2 { // the answer of the first is lost
		_, err := c.Acknowledge(r.ctx(), []string{entries[0].Key})
		r.must(err)
		equal(t, int64(3), r.counted())
	}
	n, err := c.Acknowledge(r.ctx(), []string{entries[3].Key, rest[0].Key})
	r.must(err)
	equal(t, 2, n)
	equal(t, int64(0), r.counted())
	if !r.missing(r.keys.packed(0)) {
		t.Error("it says still that the empty stream has packed entries")
	}
}

// testPackedCounted: figures, audit and rebuild see each order; and a count that a person has spoiled is right again once the
// stream is empty.
func testPackedCounted(t *testing.T, r *rig) {
	r.queued(5)
	r.set("stock", 5)
	other := order.SaleRef{VoucherID: 8}
	r.pack(2, 3)
	r.addPacked(2, "8 1 1 90 1090 91 1091")
	last := r.addPacked(2, "no 1 1 90 1090;7 1 6 77 1077") // the first part may be of any sale
	for sale, want := range map[order.SaleRef]int64{r.sale: 5 + 2, other: 2 + 1} {
		inventory, err := r.Inventory(r.ctx(), sale)
		r.must(err)
		if inventory.Mode != order.SaleMissing {
			equal(t, want, inventory.Waiting)
		}
		n := int64(0)
		for _, err := range r.Waiting(r.ctx(), sale) {
			r.must(err)
			n++
		}
		equal(t, want-1, n)
	}
	equal(t, int64(9), r.counted())
	r.must(r.commands.XDel(r.ctx(), r.keys.orders(0), last).Err()) // by hand
	equal(t, int64(8), r.counted())
	r.must(r.commands.Set(r.ctx(), r.keys.packed(0), "nonsense", 0).Err())
	equal(t, int64(3), r.counted())
	r.must(r.commands.Set(r.ctx(), r.keys.packed(0), 1000000, 0).Err())
	c := r.Consumer(0, "a")
	var keys []string
	for _, e := range r.next(c, 10) {
		if len(keys) == 0 || keys[len(keys)-1] != e.Key {
			keys = append(keys, e.Key)
		}
	}
	n, err := c.Acknowledge(r.ctx(), keys)
	r.must(err)
	equal(t, 3, n)
	equal(t, int64(0), r.counted())
	equal(t, true, r.missing(r.keys.packed(0)))
}

// testPackedDeadLetter: what cannot be read of a packed entry becomes a dead letter, and the count is right.
func testPackedDeadLetter(t *testing.T, r *rig) {
	r.queued(1)
	r.set("stock", 5)
	r.addPacked(3, "7 1 2 2 1002 3 x 4 1004")
	c := r.Consumer(0, "a")
	entries := r.next(c, 10)
	equal(t, []int64{1, 2, 4, 0}, users(entries))
	broken := entries[3]
	equal(t, entries[1].Key, broken.Key)
	for range 2 {
		r.must(c.MoveToDeadLetters(r.ctx(), broken))
		equal(t, int64(1), r.counted())
	}
	letters, total, err := r.DeadLetters(r.ctx(), 0, "", 10)
	r.must(err)
	equal(t, int64(1), total)
	equal(t, map[string]string{"n": "3", "p": "7 1 3 3 x"}, letters[0].Fields)
	equal(t, order.Claim{}, letters[0].Claim)
}

func testPackedTakenOver(t *testing.T, r *rig) {
	r.queued(4)
	r.pack(3, 1)
	dead, me := r.Consumer(0, "dead"), r.Consumer(0, "me")
	equal(t, 4, len(r.next(dead, 10)))
	r.must(me.Heartbeat(r.ctx()))
	eventually(t, func() bool {
		entries, err := me.Orphans(r.ctx(), 10)
		r.must(err)
		return len(entries) == 4 && entries[0].Key == entries[2].Key
	})
}

// testPackedRetired: a sale stays in Redis while an order of it may wait, also behind one of another sale.
func testPackedRetired(t *testing.T, r *rig) {
	r.open(1, order.Opening{Stock: 5, Begin: r.now().Add(-2 * time.Hour), End: r.now().Add(-time.Hour), Mode: order.SaleOpen})
	view := r.view()
	r.addPacked(2, "77 1 1 1 1001;7 1 1 2 1002")
	gone, err := r.Drop(r.ctx(), r.sale, view)
	r.must(err)
	equal(t, false, gone)
	r.must(r.commands.Del(r.ctx(), r.keys.orders(0), r.keys.packed(0)).Err())
	r.addPacked(2, "77 1 1 1 1001 7 1007")
	gone, err = r.Drop(r.ctx(), r.sale, view)
	r.must(err)
	equal(t, true, gone)
}

package redisstore

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/testkit"
	"seckill/scripts"
)

// An entry is read with all its orders or none: if anything cannot be read, all of it becomes one dead letter.
func TestReadPackedEntries(t *testing.T) {
	t.Parallel()
	claim := func(user, id, sequence, units int64) order.Entry {
		return order.Entry{Key: "5-1", Partition: 2, Claim: order.Claim{
			UserID: user, OrderID: id, VoucherID: 7, Epoch: 3, Sequence: sequence, Quantity: order.QuantityOf(units),
		}}
	}
	fields := func(pairs ...string) redis.XMessage {
		values := map[string]any{"v": "7", "e": "3", "s": "41", "p": "1 11 2 12:3"}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return redis.XMessage{ID: "5-1", Values: values}
	}
	equal(t, []order.Entry{claim(1, 11, 41, 1), claim(2, 12, 42, 3)}, appendEntry(nil, 2, fields()))
	equal(t, []order.Entry{claim(1, 11, 0, 1), claim(2, 12, 0, 1)},
		appendEntry(nil, 2, fields("s", "0", "p", "1 11 2 12")))
	equal(t, scripts.MaxPacked, len(appendEntry(nil, 2, fields("p", strings.Repeat("1 11 ", scripts.MaxPacked)))))
	for name, m := range map[string]redis.XMessage{
		"no orders":           fields("p", ""),
		"half an order":       fields("p", "1 11 2"),
		"too many":            fields("p", strings.Repeat("1 11 ", scripts.MaxPacked+1)),
		"no user":             fields("p", "x 11 2 12"),
		"user 0":              fields("p", "0 11 2 12"),
		"no order":            fields("p", "1 11 2 12:x"),
		"one unit, written":   fields("p", "1 11:1"),
		"no voucher":          fields("v", ""),
		"an epoch below zero": fields("e", "-1"),
		"no sequence":         fields("s", "a"),
	} {
		got := appendEntry(nil, 2, m)
		if len(got) != 1 || got[0].Malformed == nil || got[0].Key != "5-1" || got[0].Raw["p"] != m.Values["p"] ||
			got[0].Claim != (order.Claim{}) {
			t.Errorf("%s is read as %+v, want one malformed entry with all fields", name, got)
		}
	}
}

// An order that is followed keeps the trace of its request on the way through the stream; its neighbours have none. The
// entry has all that the readers of 1.0 need, and one field more.
func TestTracesInEntries(t *testing.T) {
	t.Parallel()
	const parent = trace.Parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r := newRig(t)
	r.open(3, r.hour(100))
	r.admit(gate.Request{UserID: 1, OrderID: 1001, Trace: parent})
	all := requests(2, scripts.MaxPacked+2)
	for i := range all {
		if i > 0 {
			all[i].Trace = parent[:51] + trace.Parent(string(rune('a'+i%6))) + parent[52:]
		}
	}
	all[5].Quantity = order.QuantityOf(2)
	r.admit(all...)
	entries, err := r.commands.XRange(r.ctx(), r.keys.orders(0), "-", "+").Result()
	r.must(err)
	first := map[string]any{"v": "7", "e": "3", "s": "1", "p": "1 1001", "t": "1001 " + string(parent) + " "}
	equal(t, first, entries[0].Values)
	var got []order.Entry
	for _, m := range entries {
		got = appendEntry(got, 0, m)
	}
	equal(t, 1+len(all), len(got))
	equal(t, parent, got[0].Trace)
	for i, e := range got[1:] {
		want := all[i].Trace
		if i > scripts.MaxPacked {
			want = "" // more than a call says
		}
		if e.Claim.OrderID != all[i].OrderID || e.Malformed != nil || e.Trace != want {
			t.Errorf("order %d is read as %+v, want the trace %q", all[i].OrderID, e, want)
		}
	}
	// What somebody wrote there by hand follows nobody, and is in nobody's way.
	given := string(parent)
	for _, text := range []string{"", "1001", "1001 x", "x " + given, "1002 " + given, given} {
		m := redis.XMessage{ID: "1-1", Values: map[string]any{"v": "7", "e": "3", "s": "1", "p": "1 1001", "t": text}}
		if e := appendEntry(nil, 0, m); len(e) != 1 || e[0].Malformed != nil || e[0].Trace != "" {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}

// A call packs the orders that it accepts, sixteen to an entry; a single remaining one gets an ordinary entry. The
// recorder, rebuilds and the audit read all of them as they were accepted.
func TestPackedEntries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(3, r.hour(100))
	all := requests(1, 33)
	all[4].Quantity = order.QuantityOf(3)
	r.admit(all...)
	r.admit(all...) // once more, which changes nothing
	entries, err := r.commands.XRange(r.ctx(), r.keys.orders(0), "-", "+").Result()
	r.must(err)
	equal(t, 3, len(entries))
	equal(t, map[string]any{"v": "7", "u": "33", "o": "1033", "e": "3", "s": "33"}, entries[2].Values)
	equal(t, "17", entries[1].Values["s"].(string))

	var want []order.Claim
	for i, a := range all {
		want = append(want, order.Claim{
			OrderID: a.OrderID, UserID: a.UserID, VoucherID: 7, Epoch: 3, Sequence: int64(i + 1), Quantity: a.Quantity,
		})
	}
	equal(t, want, r.stream())
	var waiting []order.Claim
	for c, err := range r.Waiting(r.ctx(), r.sale) {
		r.must(err)
		waiting = append(waiting, c)
	}
	equal(t, want, waiting)
	inventory, err := r.Inventory(r.ctx(), r.sale)
	r.must(err)
	equal(t, int64(33), inventory.Waiting)

	c := r.Consumer(0, "one")
	next, err := c.Next(r.ctx(), 2, 0)
	r.must(err)
	own, err := c.Own(r.ctx(), "", 1)
	r.must(err)
	equal(t, 32, len(next))
	equal(t, next[:16], own)
	other := r.Consumer(0, "other")
	r.must(r.commands.XGroupDelConsumer(r.ctx(), r.keys.orders(0), group, "one").Err())
	taken, err := other.Orphans(r.ctx(), 10)
	r.must(err)
	equal(t, next, taken)
	n, err := other.Acknowledge(r.ctx(), []string{next[0].Key, next[16].Key})
	r.must(err)
	equal(t, 2, n)
	equal(t, want[32:], r.stream())
}

// There are never more waiting orders than allowed, and none is refused before 97 % of that wait. Many entries are not
// packed.
func TestPackedBacklog(t *testing.T) {
	t.Parallel()
	newRig(t).fillBacklog()
	small := newRig(t)
	small.open(1, small.hour(100))
	got := small.admitBatch(gate.Batch{Requests: requests(1, 12), MaxBacklog: 10})
	equal(t, gate.Accepted, got.Results[9].Outcome)
	equal(t, gate.Backlogged, got.Results[10].Outcome)
}

// fillBacklog sends requests until the backlog is full.
func (r *rig) fillBacklog() {
	t := r.t
	r.open(1, r.hour(100_000))
	const most = 2048 // enough that four entries may be packed
	for from := int64(1); from < most+256; from += 64 {
		got := r.admitBatch(gate.Batch{Requests: requests(from, 64), MaxBacklog: most})
		if n := len(r.stream()); got.Results[0].Outcome == gate.Backlogged && n < most*97/100 || n > most {
			t.Fatalf("%d orders wait of %d, and user %d is answered %v", n, most, from, got.Results[0].Outcome)
		}
	}
	n, err := r.commands.XLen(r.ctx(), r.keys.orders(0)).Result()
	r.must(err)
	if orders := len(r.stream()); orders < most*97/100 || int64(orders) != n+4*(scripts.MaxPacked-1) {
		t.Errorf("%d entries have %d orders", n, orders)
	}
}

// packedLetter writes the dead letter of a packed entry.
func (r *rig) packedLetter(packed string) (id string) {
	r.t.Helper()
	return r.letterOf("raw.v", "7", "raw.e", "3", "raw.s", "41", "raw.p", packed)
}

func (r *rig) letterOf(fields ...any) (id string) {
	r.t.Helper()
	id, err := r.commands.XAdd(r.ctx(), &redis.XAddArgs{
		Stream: r.keys.dead(0), Values: append([]any{"key", "5-1", "why", `field "o" is missing`}, fields...),
	}).Result()
	r.must(err)
	return id
}

// The dead letter of a packed entry is replaced by one per order once it is listed or named.
func TestPackedDeadLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	broken := r.packedLetter("1 x")
	r.packedLetter("1 11 2 12:3")
	letters, total, err := r.DeadLetters(r.ctx(), 0, "", 10)
	r.must(err)
	equal(t, int64(3), total)
	equal(t, broken, letters[0].ID)
	equal(t, order.Claim{UserID: 1, OrderID: 11, VoucherID: 7}, letters[1].Claim)
	equal(t, order.Claim{UserID: 2, OrderID: 12, VoucherID: 7, Quantity: order.QuantityOf(3)}, letters[2].Claim)
	equal(t, "42", letters[2].Fields["s"])
	equal(t, "5-1", letters[2].Entry)

	named := r.packedLetter("3 13 4 14")
	_, err = r.DeadLetter(r.ctx(), 0, named)
	if err == nil || !strings.Contains(err.Error(), "dead letter of its own") {
		t.Errorf("a dead letter of several orders is answered %v", err)
	}
	_, total, err = r.DeadLetters(context.WithoutCancel(r.ctx()), 0, "", 10)
	r.must(err)
	equal(t, int64(5), total)
}

// All dead letters are unpacked, even one by one, and none of their orders is shown before.
func TestListPackedDeadLettersByPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, packed := range []string{"1 11 2 12", "3 13 4 14", "5 15 6 16"} {
		r.packedLetter(packed)
	}
	var users []int64
	for after := ""; ; {
		page, total, err := r.DeadLetters(r.ctx(), 0, after, 1)
		r.must(err)
		if len(page) == 0 {
			equal(t, int64(6), total)
			break
		}
		users, after = append(users, page[0].Claim.UserID), page[0].ID
	}
	equal(t, []int64{1, 2, 3, 4, 5, 6}, users)
}

// Voucher, user and order are enough to replay an order, also of a packed entry: other damage, in it or in its
// neighbours, does not matter.
func TestUnpackDamagedDeadLetters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields []any
		users  []int64
		s      []string
	}{
		"no epoch": {
			[]any{"raw.v", "7", "raw.s", "41", "raw.p", "1 11 2 12"}, []int64{1, 2}, []string{"41", "42"},
		},
		"no sequence": {
			[]any{"raw.v", "7", "raw.e", "3", "raw.p", "1 11 2 12"}, []int64{1, 2}, []string{"", ""},
		},
		"sequence is text": {
			[]any{"raw.v", "7", "raw.e", "3", "raw.s", "a", "raw.p", "1 11 2 12"}, []int64{1, 2}, []string{"a", "a"},
		},
		"one order is damaged": {
			[]any{"raw.v", "7", "raw.s", "41", "raw.p", "1 11 x 12 3 13"}, []int64{1, 0, 3}, []string{"41", "42", "43"},
		},
		"other blanks": {
			[]any{"raw.v", "7", "raw.s", "0", "raw.p", " 1  11\t2 \n12 "}, []int64{1, 2}, []string{"0", "0"},
		},
		"blanks of another script": {
			[]any{"raw.v", "7", "raw.p", "1\u00a011\u00a02\u00a012"}, []int64{1, 2}, []string{"", ""},
		},
		"half an order": {[]any{"raw.v", "7", "raw.p", "1 11 2"}, []int64{0}, []string{""}},
		"no voucher":    {[]any{"raw.p", "1 11 2 12"}, []int64{0}, []string{""}},
		"no orders":     {[]any{"raw.v", "7", "raw.p", ""}, []int64{0}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.letterOf(c.fields...)
			letters, _, err := r.DeadLetters(r.ctx(), 0, "", 10)
			r.must(err)
			var users []int64
			var sequences []string
			for _, l := range letters {
				users, sequences = append(users, l.Claim.UserID), append(sequences, l.Fields["s"])
			}
			equal(t, c.users, users)
			equal(t, c.s, sequences)
		})
	}
}

// A Redis that takes no writes lists its dead letters, packed ones as they are.
func TestListPackedDeadLettersReadOnly(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, testkit.StartRedis(t))
	id := r.packedLetter("1 11 2 12")
	r.must(r.commands.Do(r.ctx(), "replicaof", "127.0.0.1", "1").Err())
	letters, total, err := r.DeadLetters(r.ctx(), 0, "", 10)
	r.must(err)
	equal(t, int64(1), total)
	equal(t, id, letters[0].ID)
	equal(t, "1 11 2 12", letters[0].Fields["p"])
}

package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/scripts"
)

// A packed entry of the stream has one or more orders of one sale, which one call of scripts/seckill.lua accepted. It
// has the sale, the epoch and the first order's sequence like other entries, and, instead of user and order, the field
// entryPacked: user and order of each, separated by blanks, as 1001 5001 1002 5002:3. Their sequences are consecutive.
const entryPacked = "p"

// appendEntry reads an entry of the stream, and appends one order.Entry for each of its orders, all with its key. If
// anything in the entry cannot be read, it appends one Malformed order.Entry with all fields.
func appendEntry(entries []order.Entry, partition int, m redis.XMessage) []order.Entry {
	if _, packed := m.Values[entryPacked]; !packed {
		return append(entries, decode(partition, m))
	}
	before := len(entries)
	entries, err := unpack(entries, partition, m)
	if err != nil {
		return append(entries[:before], malformed(order.Entry{Key: m.ID, Partition: partition}, m, err))
	}
	if traces, ok := m.Values[entryTraces].(string); ok {
		follow(entries[before:], traces)
	}
	return entries
}

// tracesOf returns the orders of a call that are to be followed, as follow reads them: "" if there are none, and of
// the first scripts.MaxPacked at most, since all entries of the call have the text.
func tracesOf(requests []gate.Request) string {
	var text []byte
	left := scripts.MaxPacked
	for i := range requests {
		if r := &requests[i]; r.Trace != "" && left > 0 {
			text = append(append(strconv.AppendInt(text, r.OrderID, 10), ' '), r.Trace...)
			text, left = append(text, ' '), left-1
		}
	}
	return string(text)
}

// follow sets the traces of entries. The text names orders, each with its traceparent; what is none is left out.
func follow(entries []order.Entry, text string) {
	words := strings.Fields(text)
	for i := range entries {
		id := strconv.FormatInt(entries[i].Claim.OrderID, 10)
		for w := 0; w+1 < len(words); w += 2 {
			if words[w] == id {
				entries[i].Trace = trace.Parse(words[w+1])
			}
		}
	}
}

// unpack appends the orders of a packed entry. After an error it may have appended some of them.
func unpack(entries []order.Entry, partition int, m redis.XMessage) ([]order.Entry, error) {
	d := decoder{values: m.Values}
	sale := d.sale()
	first := order.Claim{VoucherID: sale, Epoch: d.number(entryEpoch, 0), Sequence: d.number(entrySequence, 0)}
	words := strings.Fields(d.text(entryPacked))
	if d.err != nil {
		return entries, d.err
	}
	if n := len(words); n%2 != 0 || n < 2 || n > 2*scripts.MaxPacked {
		return entries, fmt.Errorf("field %q has %d words; it names 1 to %d orders, each by its user and its id",
			entryPacked, n, scripts.MaxPacked)
	}
	for i := 0; i < len(words); i += 2 {
		held := parseHeld(words[i+1])
		c := order.Claim{
			OrderID: held.OrderID, UserID: identifier(words[i]), Quantity: held.Quantity,
			VoucherID: first.VoucherID, Epoch: first.Epoch, Sequence: first.Sequence,
		}
		if c.UserID == 0 || c.OrderID == 0 {
			return entries, fmt.Errorf("field %q has %q and %q, which are no user with an order",
				entryPacked, words[i], words[i+1])
		}
		if first.Sequence > 0 {
			c.Sequence += int64(i / 2)
		}
		entries = append(entries, order.Entry{Key: m.ID, Partition: partition, Claim: c})
	}
	return entries, nil
}

// packedLetter returns the users and orders, alternating, of a dead letter that was a packed entry; nil if it was not,
// or if none of its orders can be read. It needs only voucher, user and order, so that an order can be replayed
// although its neighbour or its sequence is damaged.
func packedLetter(fields map[string]string) []string {
	words := strings.Fields(fields[entryPacked])
	if n := len(words); n%2 != 0 || n > 2*scripts.MaxPacked {
		return nil
	}
	if identifier(fields[entryVoucher]) == 0 {
		return nil
	}
	for i := 0; i < len(words); i += 2 {
		if identifier(words[i]) != 0 && parseHeld(words[i+1]).OrderID != 0 {
			return words
		}
	}
	return nil
}

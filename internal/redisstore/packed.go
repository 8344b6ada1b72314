package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// appendEntries reads a stream entry into as many entries as it has orders, all with its key. In a packed one the orders are a
// text: the sales, with semicolons between them; of each, separated by blanks, its voucher, its epoch, the sequence of its
// first order, and then user and order (held.go) for each order. Their sequences follow each other.
//
// What cannot be read of a packed entry is one more entry, which is Malformed: the others are settled all the same.
//
// This version reads packed entries and writes none (docs/upgrades.md).
func appendEntries(entries []order.Entry, partition int, m redis.XMessage) []order.Entry {
	value, packed := m.Values[entryPacked]
	text, is := value.(string)
	if !packed || !is {
		return append(entries, decode(partition, m))
	}
	u := unpacker{entries: entries, template: order.Entry{Key: m.ID, Partition: partition}}
	for sale := range strings.SplitSeq(text, ";") {
		u.sale(sale)
	}
	read := len(u.entries) - len(entries) + u.unreadable
	if n := fmt.Sprint(m.Values[entryCount]); n != strconv.Itoa(read) && u.err == nil {
		u.err = fmt.Errorf("field %q is %q, but field %q has %d orders", entryCount, n, entryPacked, read)
		u.rest = []string{text}
	}
	if u.err != nil {
		broken := u.template
		broken.Malformed = u.err
		broken.Raw = map[string]string{entryCount: fmt.Sprint(m.Values[entryCount]), entryPacked: strings.Join(u.rest, ";")}
		u.entries = append(u.entries, broken)
	}
	return u.entries
}

// unpacker reads the orders of a packed entry.
type unpacker struct {
	entries    []order.Entry
	template   order.Entry
	rest       []string // what cannot be read, in the same form
	unreadable int      // how many orders that is, as far as can be told
	err        error    // the first reason
}

// sale reads the orders of one sale.
func (u *unpacker) sale(text string) {
	words := strings.Split(text, " ")
	if len(words) < 5 || len(words)%2 == 0 {
		u.leave(text, 1, fmt.Errorf("field %q has %q, which is no sale with its orders", entryPacked, text))
		return
	}
	d := packedDecoder{}
	voucherID, epoch, sequence := d.number(words[0], 1), d.number(words[1], 0), d.number(words[2], 0)
	if d.err != nil {
		u.leave(text, len(words)/2-1, d.err)
		return
	}
	for i := 3; i < len(words); i += 2 {
		d := packedDecoder{}
		e, held := u.template, parseHeld(words[i+1])
		e.Claim = order.Claim{
			OrderID: held.OrderID, UserID: d.number(words[i], 1), VoucherID: voucherID, Epoch: epoch, Sequence: sequence, Quantity: held.Quantity,
		}
		if held.OrderID == 0 && d.err == nil {
			d.err = fmt.Errorf("field %q has %q, which is no order", entryPacked, words[i+1])
		}
		if d.err == nil {
			u.entries = append(u.entries, e)
		} else {
			u.leave(strings.Join([]string{words[0], words[1], strconv.FormatInt(sequence, 10), words[i], words[i+1]}, " "), 1, d.err)
		}
		if sequence > 0 {
			sequence++
		}
	}
}

// leave keeps what cannot be read.
func (u *unpacker) leave(text string, orders int, err error) {
	u.rest, u.unreadable = append(u.rest, text), u.unreadable+orders
	if u.err == nil {
		u.err = err
	}
}

// packedDecoder reads numbers and keeps the first error.
type packedDecoder struct{ err error }

func (d *packedDecoder) number(text string, least int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case d.err != nil:
	case err != nil:
		d.err = fmt.Errorf("field %q: %w", entryPacked, err)
	case n < least:
		d.err = fmt.Errorf("field %q has %d, below %d", entryPacked, n, least)
	}
	return n
}

package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// errEntryGone: the entry is pending, but no longer in the stream, because somebody trimmed it.
var errEntryGone = errors.New("the entry is gone from the stream")

// decode strictly reads a stream entry that is not packed: an entry that does not name a sale, a user and an order is
// Malformed. Epoch and sequence may be 0, as a rebuild may queue an order although it knows only the holder. Raw has
// the fields of a malformed entry and is nil for others.
func decode(partition int, m redis.XMessage) order.Entry {
	e := order.Entry{Key: m.ID, Partition: partition}
	if m.Values == nil {
		e.Malformed = errEntryGone
		return e
	}
	d := decoder{values: m.Values}
	held, sale := d.held(entryOrder), d.sale()
	e.Claim = order.Claim{
		OrderID:   held.OrderID,
		UserID:    d.number(entryUser, 1),
		VoucherID: sale,
		Epoch:     d.number(entryEpoch, 0),
		Sequence:  d.number(entrySequence, 0),
		Quantity:  held.Quantity,
	}
	if d.err != nil {
		return malformed(e, m, d.err)
	}
	return e
}

// malformed returns an entry that cannot be read, with its fields.
func malformed(e order.Entry, m redis.XMessage, why error) order.Entry {
	e.Claim, e.Malformed, e.Raw = order.Claim{}, why, make(map[string]string, len(m.Values))
	for field, value := range m.Values {
		e.Raw[field] = fmt.Sprint(value)
	}
	return e
}

// decoder reads fields and keeps the first error.
type decoder struct {
	values map[string]any
	err    error
}

// held reads an order as heldText writes it: an id, or id:units if there are several units.
func (d *decoder) held(field string) order.Held {
	text := d.text(field)
	if !strings.Contains(text, ":") {
		return order.Held{OrderID: d.number(field, 1)}
	}
	h := parseHeld(text)
	if h.OrderID == 0 {
		d.err = fmt.Errorf("field %q is %q, which is not an order with its units", field, text)
	}
	return h
}

// sale reads the voucher id of the entry's sale.
func (d *decoder) sale() (id int64) {
	text := d.text(entryVoucher)
	if id = identifier(text); id == 0 && d.err == nil {
		d.err = fmt.Errorf("field %q is %.80q, which is not a voucher's id", entryVoucher, text)
	}
	return id
}

// text returns a field; "" after an error.
func (d *decoder) text(field string) string {
	if d.err != nil {
		return ""
	}
	value, there := d.values[field]
	if !there {
		d.err = fmt.Errorf("field %q is missing", field)
		return ""
	}
	text, ok := value.(string)
	if !ok {
		d.err = fmt.Errorf("field %q holds a %T instead of text", field, value)
	}
	return text
}

func (d *decoder) number(field string, least int64) int64 {
	text := d.text(field)
	if d.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		d.err = fmt.Errorf("field %q: %w", field, err)
	case n < least:
		d.err = fmt.Errorf("field %q is %d, below %d", field, n, least)
	}
	return n
}

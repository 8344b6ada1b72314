package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

// TestDecode: an entry is a claim only if all its fields are valid.
func TestDecode(t *testing.T) {
	t.Parallel()
	good := func() map[string]any {
		return map[string]any{"v": "7", "u": "1", "o": "9223372036854775807", "e": "2", "s": "3"}
	}
	for _, c := range []struct {
		name, field string
		value       any // nil removes the field
		wrong       string
	}{
		{"no voucher", "v", nil, `"v" is missing`},
		{"no user", "u", nil, `"u" is missing`},
		{"no order", "o", nil, `"o" is missing`},
		{"no epoch", "e", nil, `"e" is missing`},
		{"no sequence", "s", nil, `"s" is missing`},
		{"no text", "o", int64(5), "holds a int64 instead of text"},
		{"empty", "o", "", "invalid syntax"},
		{"text", "u", "me", "invalid syntax"},
		{"fraction", "u", "1.5", "invalid syntax"},
		{"too large", "o", "9223372036854775808", "out of range"},
		{"zero order", "o", "0", "below 1"},
		{"zero user", "u", "0", "below 1"},
		{"negative voucher", "v", "-7", "not a voucher's id"},
		{"fraction of a voucher", "v", "7.0", "not a voucher's id"},
		{"leading zero", "v", "07", "not a voucher's id"},
		{"negative epoch", "e", "-1", "below 0"},
		{"negative sequence", "s", "-1", "below 0"},
		{"epoch not known", "e", "0", ""},
		{"sequence not known", "s", "0", ""},
		{"an unknown field", "extra", "1", ""},
	} {
		values := good()
		values[c.field] = c.value
		if c.value == nil {
			delete(values, c.field)
		}
		e := decode(3, redis.XMessage{ID: "1-1", Values: values})
		switch {
		case c.wrong == "" && e.Malformed != nil:
			t.Errorf("%s: %v", c.name, e.Malformed)
		case c.wrong == "" && (e.Claim.OrderID != 1<<63-1 || e.Partition != 3 || e.Key != "1-1"):
			t.Errorf("%s: %+v", c.name, e)
		case c.wrong != "" && (e.Malformed == nil || !strings.Contains(e.Malformed.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", c.name, e.Malformed, c.wrong)
		case c.wrong != "" && e.Claim != order.Claim{}:
			t.Errorf("%s: read as the claim %+v", c.name, e.Claim)
		}
		var raw map[string]string
		if c.wrong != "" {
			raw = make(map[string]string)
			for field, value := range values {
				raw[field] = fmt.Sprint(value)
			}
		}
		equal(t, raw, e.Raw)
	}
}

package param

import (
	"net/http"
	"strings"
	"testing"

	"seckill/internal/kit/words"
)

// keys are what may stand in an Idempotency-Key, and whether it is one.
var keys = map[string]bool{
	"a": true, "3f1c9e5a-5b1e-4c0f-9d59-0b6a3f5f8a11": true, `"quoted"`: true, "!~": true,
	strings.Repeat("k", 255): true, "": false, " ": false, "a b": false, "a\tb": false, "a\n": false, "é": false,
	"\x00": false, "\x7f": false, "券": false, "\xff": false,
	strings.Repeat("k", 256): false, strings.Repeat("券", 200): false,
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for text, good := range keys {
		key, p := IdempotencyKey(http.Header{"Idempotency-Key": {text}})
		if good && (key != text || p != nil) {
			t.Errorf("%q: %q, %+v", text, key, p)
		}
		if !good && (key != "" || p == nil || p.Field != "Idempotency-Key" || p.Allowed != idempotencyKey ||
			len(p.In(words.English).Reason) > 200) {
			t.Errorf("%q: %q, %+v", text, key, p)
		}
	}
	if key, p := IdempotencyKey(http.Header{"Idempotency-Key": {"a", "a"}}); key != "" || p == nil {
		t.Errorf("two keys: %q, %+v", key, p)
	}
	if key, p := IdempotencyKey(http.Header{}); key != "" || p != nil {
		t.Errorf("no key: %q, %+v", key, p)
	}
	if key, p := RequiredIdempotencyKey(http.Header{}); key != "" || p == nil {
		t.Errorf("no key where one is required: %q, %+v", key, p)
	}
	if key, p := RequiredIdempotencyKey(http.Header{"Idempotency-Key": {"a"}}); key != "a" || p != nil {
		t.Errorf("a key where one is required: %q, %+v", key, p)
	}
}

func FuzzIdempotencyKey(f *testing.F) {
	for text := range keys {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, p := IdempotencyKey(http.Header{"Idempotency-Key": {text}})
		if (key == "") == (p == nil) || key != "" && key != text {
			t.Fatalf("%q: %q, %+v", text, key, p)
		}
		visible := text != "" && len(text) <= maxIdempotencyKey
		for _, r := range text { // runes: whatever is not ASCII is above '~', also what is no rune at all
			visible = visible && r > ' ' && r <= '~'
		}
		if visible != (p == nil) {
			t.Errorf("%q: %+v", text, p)
		}
	})
}

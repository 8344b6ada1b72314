package param

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
)

// query parses a raw query.
func query(t *testing.T, raw string) (Query, *invalid.Problem) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.URL.RawQuery = raw
	return ParseQuery(r)
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		"": true, "a=1": true, "a=1&b": true, "a=%zz": false, "a=1;b=2": false, "%": false,
	} {
		q, p := query(t, raw)
		if ok != (p == nil) ||
			p != nil && (q != nil || p.Field != "query" || p.Reason.Code == "" || p.Allowed.Code == "") {
			t.Errorf("%q: %v, %+v", raw, q, p)
		}
	}
}

// Each reader has a value for a name that is absent, takes what is right, and refuses the rest by name.
func TestQuery(t *testing.T) {
	t.Parallel()
	readers := map[string]func(Query) (any, *invalid.Problem){
		"text":   func(q Query) (any, *invalid.Problem) { s, _, p := q.Text("text"); return s, p },
		"id":     func(q Query) (any, *invalid.Problem) { id, p := q.ID("id", 99); return id, p },
		"before": func(q Query) (any, *invalid.Problem) { id, p := q.Before(); return id, p },
		"limit":  func(q Query) (any, *invalid.Problem) { n, p := q.Limit(); return n, p },
		"wait":   func(q Query) (any, *invalid.Problem) { d, p := q.Duration("wait", 20*time.Second); return d, p },
	}
	for _, c := range []struct {
		name string
		raw  string
		want any // nil: refused
	}{
		{"text", "", ""},
		{"text", "text=", ""},
		{"text", "text=a%20b", "a b"},
		{"text", "text=a&text=a", nil},
		{"id", "", int64(0)},
		{"id", "id=99", int64(99)},
		{"id", "id=100", nil},
		{"id", "id=", nil},
		{"id", "id=0", nil},
		{"id", "id=1&id=1", nil},
		{"before", "", int64(math.MaxInt64)},
		{"before", "before=7", int64(7)},
		{"before", "before=9223372036854775807", int64(math.MaxInt64)},
		{"before", "before=0", nil},
		{"before", "before=x", nil},
		{"limit", "", 20},
		{"limit", "limit=1", 1},
		{"limit", "limit=100", 100},
		{"limit", "limit=101", nil},
		{"limit", "limit=0", nil},
		{"limit", "limit=5&limit=5", nil},
		{"wait", "", time.Duration(0)},
		{"wait", "wait=0", time.Duration(0)},
		{"wait", "wait=1.5s", 1500 * time.Millisecond},
		{"wait", "wait=20s", 20 * time.Second},
		{"wait", "wait=20s1ns", nil},
		{"wait", "wait=-1s", nil},
		{"wait", "wait=2", nil},
		{"wait", "wait=", nil},
	} {
		q, p := query(t, c.raw)
		if p != nil {
			t.Fatalf("%q: %+v", c.raw, p)
		}
		got, p := readers[c.name](q)
		if c.want == nil && (p == nil || p.Field != c.name || p.Reason.Code == "" || p.Allowed.Code == "") {
			t.Errorf("%s of %q: %v, %+v, want a problem", c.name, c.raw, got, p)
		}
		if c.want != nil && (p != nil || !cmp.Equal(got, c.want)) {
			t.Errorf("%s of %q: %v, %+v, want %v", c.name, c.raw, got, p, c.want)
		}
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	if id, p := ID("shopId", "42", 42); id != 42 || p != nil {
		t.Errorf("%d, %+v", id, p)
	}
	_, p := ID("shopId", strings.Repeat("9", 300), 42)
	want := invalid.New("shopId", invalid.Malformed, invalid.Range,
		invalid.Data{"value": strings.Repeat("9", 64) + "…", "min": int64(1), "max": int64(42)})
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{
		"1", "42", "100", "9007199254740991", "9223372036854775807", "", "0", "-1", "+1", "01", "1.0", "1e3", "0x1",
		"1a", " 1", "1 ", "१", "１", "9223372036854775808", "1_000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, largest := range []int64{maxLimit, 1<<53 - 1, math.MaxInt64} {
			id, ok := ParseID(s, largest)
			if ok && (id < 1 || id > largest || strconv.FormatInt(id, 10) != s) {
				t.Errorf("%q is read as %d", s, id)
			}
			if n, err := strconv.ParseInt(s, 10, 64); !ok && err == nil && n >= 1 && n <= largest &&
				strconv.FormatInt(n, 10) == s {
				t.Errorf("%q is refused", s)
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"", "2s", "500ms", "-1s", "1h", "9999999999h", "1s1s", ".5s", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const longest = 30 * time.Second
		d, p := Query(url.Values{"wait": {s}}).Duration("wait", longest)
		if d < 0 || d > longest || p != nil && d != 0 {
			t.Errorf("%q: %s, %+v", s, d, p)
		}
	})
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"": nil, "&": nil, "limit=1": nil, "limit=1&before=2&limit=3": nil, "l%69mit=1": nil, "limit": nil,
		"limt=1": {"limt"}, "a=1&limit=1&b": {"a", "b"}, "=1": {""}, "%zz=1": {"query"}, "limit=1;before=2": nil,
		"a;b": {"query"}, "LIMIT=1": {"LIMIT"}, strings.Repeat("a&", 30): slices.Repeat([]string{"a"}, 20),
	} {
		var got []string
		for _, p := range Unknown(raw, "limit", "before") {
			got = append(got, p.Field)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	}
}

// Not in parallel: what others allocate meanwhile would count.
func TestUnknownCostsNothing(t *testing.T) {
	names := []string{"limit", "before"}
	if n := testing.AllocsPerRun(100, func() { Unknown("limit=1&before=2", names...) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

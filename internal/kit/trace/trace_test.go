package trace_test

import (
	"strings"
	"testing"

	"seckill/internal/kit/trace"
	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	id    = "0af7651916cd43dd8448eb211c80319c"
	given = "00-" + id + "-b7ad6b7169203331-01"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value   string
		sampled bool
		bad     bool
	}{
		"sampled":          {value: given, sampled: true},
		"not sampled":      {value: given[:53] + "00"},
		"more flags":       {value: given[:53] + "ab", sampled: true},
		"other flags":      {value: given[:53] + "0a"},
		"nothing":          {bad: true},
		"another version":  {value: "01" + given[2:], bad: true},
		"longer":           {value: given + "-00", bad: true},
		"shorter":          {value: given[:54], bad: true},
		"upper case":       {value: strings.ToUpper(given), bad: true},
		"no trace":         {value: "00-" + strings.Repeat("0", 32) + given[35:], bad: true},
		"no span":          {value: given[:36] + strings.Repeat("0", 16) + "-01", bad: true},
		"another divider":  {value: strings.ReplaceAll(given, "-", "_"), bad: true},
		"a line of a log":  {value: "00-" + id[:31] + "\n" + given[35:], bad: true},
		"letters in flags": {value: given[:53] + "zz", bad: true},
	} {
		p := trace.Parse(tc.value)
		switch {
		case tc.bad:
			if p != "" || p.ID() != "" || p.Sampled() || p.Child() != "" {
				t.Errorf("%s: %q", name, p)
			}
		case string(p) != tc.value || p.ID() != id || p.Sampled() != tc.sampled:
			t.Errorf("%s: %q has the id %q, sampled: %v", name, p, p.ID(), p.Sampled())
		}
	}
}

// A child is of the same trace, with a span of its own.
func TestChild(t *testing.T) {
	t.Parallel()
	p := trace.Parse(given)
	a, b := p.Child(), p.Child()
	if a == p || a == b || trace.Parse(string(a)) != a || a.ID() != id || !a.Sampled() {
		t.Errorf("%q, %q of %q", a, b, p)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), trace.Parse(given)
	if got := trace.From(ctx) + trace.Of(ctx, 1); got != "" {
		t.Errorf("%q from nothing", got)
	}
	ctx = trace.With(ctx, p)
	each := trace.WithEach(ctx, map[int64]trace.Parent{1: p.Child()})
	if trace.From(each) != p || trace.Of(each, 2) != p || trace.Of(each, 1) == p || trace.Of(ctx, 1) != p {
		t.Errorf("%q, %q, %q of %q", trace.From(each), trace.Of(each, 2), trace.Of(each, 1), p)
	}
}

package partition

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
)

// A format is written only if each living instance has named it twice.
func TestFormats(t *testing.T) {
	t.Parallel()
	released := Instance{Name: "server-1", Version: "1.0.0"}
	other := Instance{Name: "server-2", Version: "1.1.0", Formats: []string{"parts"}}
	reads := Instance{Name: "server-3", Version: "1.1.0", Formats: []string{"parts", "draw"}}
	away := errors.New("away")
	for name, tc := range map[string]struct {
		looks [][]Instance // nil: Redis does not answer
		want  error
		names string
	}{
		"all read it":  {[][]Instance{{reads}, {reads, reads}}, nil, ""},
		"nobody lives": {[][]Instance{{}, {}}, nil, ""},
		"1.0 lives":    {[][]Instance{{reads, released}}, order.ErrUpgrading, "server-1 1.0.0"},
		"another format": {
			[][]Instance{{other, released}}, order.ErrUpgrading, "server-1 1.0.0, server-2 1.1.0",
		},
		"Redis was emptied":      {[][]Instance{{}, {reads, released}}, order.ErrUpgrading, "server-1"},
		"1.0 comes":              {[][]Instance{{reads}, {released, reads}}, order.ErrUpgrading, "server-1"},
		"Redis does not answer":  {[][]Instance{nil}, away, ""},
		"Redis ceases to answer": {[][]Instance{{reads}, nil}, away, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				look := 0
				f := NewFormats(func(context.Context) ([]Instance, error) {
					look++
					if tc.looks[look-1] == nil {
						return nil, away
					}
					return tc.looks[look-1], nil
				}, nil)
				begin := time.Now()
				err := f.Require(t.Context(), "draw")
				if !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
				for named := range strings.SplitSeq(tc.names, ", ") {
					if err != nil && !strings.Contains(err.Error(), named) {
						t.Errorf("%v does not name %s", err, named)
					}
				}
				if took := time.Since(begin); look != len(tc.looks) || took != time.Duration(look-1)*heartbeatAgain {
					t.Errorf("%d looks in %v", look, took)
				}
			})
		})
	}
}

// A caller that gives up does not wait for the second look.
func TestFormatsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := NewFormats(func(context.Context) ([]Instance, error) { cancel(); return nil, nil }, nil)
	if err := f.Require(ctx, "draw"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A format is written once versions before can no longer start, and only if none has started just before.
func TestFormatsSwitchOn(t *testing.T) {
	t.Parallel()
	reads, released := Instance{Name: "a", Formats: []string{"draw"}}, Instance{Name: "b"}
	failed := errors.New("the ledger is away")
	for name, tc := range map[string]struct {
		before, after Instance
		raise         error
		raised        bool
		want          error
	}{
		"all read it":              {reads, reads, nil, true, nil},
		"1.0 lives":                {released, released, nil, false, order.ErrUpgrading},
		"1.0 has started":          {reads, released, nil, true, order.ErrUpgrading},
		"the ledger is not raised": {reads, reads, failed, true, failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				raised, alive := false, tc.before
				f := NewFormats(
					func(context.Context) ([]Instance, error) { return []Instance{alive}, nil },
					func(context.Context) error { raised, alive = true, tc.after; return tc.raise },
				)
				if err := f.SwitchOn(t.Context(), "draw"); !errors.Is(err, tc.want) || raised != tc.raised {
					t.Errorf("%v, raised %t", err, raised)
				}
			})
		})
	}
}

package shops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// namesRig has names whose shops, clock and failures a test sets.
type namesRig struct {
	*Names

	shops map[int64]string
	err   error
	now   time.Time
	asked [][]int64
}

func newNames() *namesRig {
	r := &namesRig{shops: map[int64]string{1: "Bakery", 2: "Bar"}, now: time.Unix(0, 0)}
	r.Names = NewNames(func(_ context.Context, ids []int64) (map[int64]Face, error) {
		r.asked = append(r.asked, slices.Clone(ids))
		found := make(map[int64]Face)
		for _, id := range ids {
			if name := r.shops[id]; name != "" {
				found[id] = Face{Name: name}
			}
		}
		return found, r.err
	}, func() time.Time { return r.now })
	return r
}

// A page of a list costs one query, the next pages none until the names are old; also for shops without a name.
func TestNamesAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	r := newNames()
	for range 3 {
		got := r.Known(t.Context(), []int64{1, 2, 3})
		if diff := cmp.Diff(map[int64]string{1: "Bakery", 2: "Bar"}, got); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	}
	r.shops[1] = "Cafe"
	r.now = r.now.Add(fresh)
	if got := r.Known(t.Context(), []int64{1, 4}); got[1] != "Cafe" || len(got) != 1 {
		t.Errorf("after a while: %v", got)
	}
	r.shops[1] = "Diner" // changed here
	r.Forget(1)
	if got := r.Known(t.Context(), []int64{1}); got[1] != "Diner" {
		t.Errorf("after a change on this instance: %v", got)
	}
	if diff := cmp.Diff([][]int64{{1, 2, 3}, {1, 4}, {1}}, r.asked); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// A name that is changed while it is being read is read again.
func TestNamesChangedWhileRead(t *testing.T) {
	t.Parallel()
	r := newNames()
	read := r.read
	r.read = func(ctx context.Context, ids []int64) (map[int64]Face, error) {
		found, err := read(ctx, ids)
		r.shops[1] = "Diner"
		r.Forget(1)
		return found, err
	}
	r.Known(t.Context(), []int64{1, 2})
	if got := r.Known(t.Context(), []int64{1, 2}); got[1] != "Diner" || got[2] != "Bar" {
		t.Errorf("after the change: %v", got)
	}
}

// Without the database, names are the last ones, and a shop that is not known is an error for its own page alone.
func TestNamesWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	r := newNames()
	r.Known(t.Context(), []int64{1})
	r.now, r.err = r.now.Add(time.Hour), errors.New("away")
	if got, err := r.Of(t.Context(), []int64{1}); err != nil || got[1].Name != "Bakery" {
		t.Errorf("a known name: %v, %v", got, err)
	}
	if got, err := r.Of(t.Context(), []int64{2}); !errors.Is(err, r.err) || len(got) != 0 {
		t.Errorf("an unknown one: %v, %v", got, err)
	}
	if got := r.Known(t.Context(), []int64{1, 2}); got[1] != "Bakery" || len(got) != 1 {
		t.Errorf("a list: %v", got)
	}
}

// Whoever asks for all numbers there are does not fill the memory.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	r := newNames()
	for id := range int64(3 * mostKnown) {
		r.shops[id] = fmt.Sprint("shop ", id)
		if got := r.Known(t.Context(), []int64{id}); got[id] != r.shops[id] {
			t.Fatalf("shop %d is %v", id, got)
		}
	}
	if n := len(r.known); n > mostKnown {
		t.Errorf("%d names in memory, want at most %d", n, mostKnown)
	}
}

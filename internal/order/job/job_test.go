package job

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeLocks hands out rising tokens; at first it is busy several times.
type fakeLocks struct {
	busy  int
	token int64
	asked []string
}

func (f *fakeLocks) TryDoFenced(
	ctx context.Context, name string, do func(ctx context.Context, token int64) error,
) error {
	f.asked = append(f.asked, name)
	if f.busy > 0 {
		f.busy--
		return order.ErrBusy
	}
	f.token++
	return do(ctx, f.token)
}

// The job waits for its turn, goes on at once after a full batch, within its rate, and pauses after a smaller batch.
// After a failed batch it releases the lock, logs the failure, and tries again with the next token.
func TestJob(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		busy    int
		rate    int
		items   []int    // of the batches; negative: the batch fails
		batches []string // when each batch begins, with its token
		logged  string
		within  time.Duration
	}{
		"another instance works": {
			busy: 2, items: []int{0}, batches: []string{"2s 1"}, within: 2500 * time.Millisecond,
		},
		"until nothing is left": {
			items: []int{5, 5, 4, 0}, batches: []string{"0s 1", "0s 1", "0s 1", "1s 1"},
			within: 1500 * time.Millisecond,
		},
		"at a rate": {
			rate: 2, items: []int{5, 5, 0}, batches: []string{"0s 1", "2.5s 1", "5s 1"},
			within: 5500 * time.Millisecond,
		},
		"a rate beyond the pause": {
			rate: 2, items: []int{4, 0}, batches: []string{"0s 1", "2s 1"}, within: 2500 * time.Millisecond,
		},
		"a batch fails": {
			items: []int{5, -1, 0}, batches: []string{"0s 1", "0s 1", "1s 2"}, logged: "counting failed; retrying",
			within: 1500 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var batches []string
				begin, locks := time.Now(), &fakeLocks{busy: tc.busy}
				j := Job{Name: "counter", Does: "counting", Every: time.Second, Size: 5, Rate: tc.rate}
				j.Batch = func(_ context.Context, token int64) (int, error) {
					batches = append(batches, time.Since(begin).String()+" "+string(rune('0'+token)))
					n := tc.items[min(len(batches), len(tc.items))-1]
					if n < 0 {
						return 0, errors.New("no")
					}
					return n, nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.within)
				defer cancel()
				if err := j.Run(ctx, locks.TryDoFenced, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(tc.batches, batches); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
				if !strings.Contains(log.String(), tc.logged) || tc.logged == "" && log.Len() > 0 ||
					locks.asked[0] != "counter" {
					t.Errorf("tried for the locks %v, logged %q", locks.asked, log.String())
				}
			})
		})
	}
}

// A batch that hangs ends after half a minute, and the job goes on.
func TestBatchHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		j := Job{Name: "counter", Does: "counting", Every: time.Second, Size: 5}
		j.Batch = func(ctx context.Context, _ int64) (int, error) {
			began++
			<-ctx.Done()
			return 0, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		_ = j.Run(ctx, new(fakeLocks).TryDoFenced, slog.New(slog.DiscardHandler))
		if began != 2 {
			t.Errorf("%d batches began, want 2", began)
		}
	})
}

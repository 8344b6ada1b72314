package partition

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// heartbeats are the names of the instances that work in each partition, which a test may change; nil: the partition
// does not answer.
type heartbeats struct {
	mu     sync.Mutex
	works  map[int][]string
	shown  map[int]string
	logged strings.Builder
}

func (h *heartbeats) InstancesIn(_ context.Context, n int) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.works[n] == nil {
		return nil, errors.New("away")
	}
	return h.works[n], nil
}

func (h *heartbeats) set(n int, names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.works[n] = names
}

func (h *heartbeats) SetMissingInstances(partition, n int)     { h.show(partition, fmt.Sprint(n)) }
func (h *heartbeats) SetMissingInstancesUnknown(partition int) { h.show(partition, "unknown") }
func (h *heartbeats) ForgetMissingInstances(partition int)     { h.show(partition, "") }

func (h *heartbeats) show(partition int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown[partition] = text
}

// Write collects the log.
func (h *heartbeats) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logged.Write(line)
}

// expect checks what the observer shows of partition 2, and how often an instance was logged.
func (h *heartbeats) expect(t *testing.T, want string, warnings int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shown[2] != want {
		t.Errorf("missing: %q, want %q", h.shown[2], want)
	}
	if n := strings.Count(h.logged.String(), "instance=old"); n != warnings {
		t.Errorf("%d warnings, want %d: %s", n, warnings, h.logged.String())
	}
}

// An instance of an older version joins, works in partition 0 alone, and is replaced.
func TestWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heartbeats{works: map[int][]string{0: {"a:1"}, 2: {"a:1"}}, shown: map[int]string{}}
		ctx, stop := context.WithCancel(t.Context())
		w := NewWatcher(h.InstancesIn, h, slog.New(slog.NewTextHandler(h, nil)))
		go func() {
			if err := w.Run(ctx, 2); err != nil {
				t.Error(err)
			}
		}()
		after := func(d time.Duration, want string, lines int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			h.expect(t, want, lines)
		}
		time.Sleep(time.Millisecond) // between two checks
		after(2*watchEvery, "0", 0)
		h.set(0, "a:1", "old:2 reads")
		after(watchEvery, "0", 0)
		after(missingAfter+watchEvery, "1", 1)
		after(10*watchEvery, "1", 1)
		h.set(2)
		after(watchEvery, "unknown", 1)
		h.set(2, "a:1") // the absence counts from now on, because the partition did not answer before
		after(missingAfter, "0", 1)
		after(watchEvery, "1", 2)
		h.set(2)
		after(watchEvery, "unknown", 2)
		h.set(2, "a:1", "old:2 reads")
		after(watchEvery, "0", 2)
		stop()
		synctest.Wait()
		h.expect(t, "", 2)                    // this instance no longer works there
		if err := w.Run(ctx, 0); err != nil { // every instance works there
			t.Error(err)
		}
	})
}

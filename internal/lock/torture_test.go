//go:build torture

package lock_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// processes is how many processes take locks at a time.
const processes = 6

// TestTorture lets processes take locks of all kinds while they and Redis suffer one fault after another, each for
// LOCK_TORTURE (10m). The recorded stays and tokens must be what the kinds promise.
//
//	make -C lab torture-locks
func TestTorture(t *testing.T) {
	length := 10 * time.Minute
	if text := os.Getenv("LOCK_TORTURE"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range []struct {
		name string
		do   func(w *world)
	}{
		{"none", func(*world) { time.Sleep(time.Second) }},
		{"SIGKILL", func(w *world) { _ = w.pick().cmd.Process.Kill() }}, // it may be dead already and not yet replaced
		{"SIGSTOP beyond the lease", func(w *world) {
			c := w.pick()
			c.signal(w.t, syscall.SIGSTOP)
			time.Sleep(2 * childLease)
			c.signal(w.t, syscall.SIGCONT)
		}},
		{"Redis killed", func(w *world) { w.server.Kill(); time.Sleep(100 * time.Millisecond); w.server.Start() }},
		{"cut", func(w *world) { w.proxy.Cut(); time.Sleep(childLease); w.proxy.Heal() }},
		{"delayed", func(w *world) { w.proxy.Delay(50 * time.Millisecond); time.Sleep(childLease); w.proxy.Heal() }},
		{"silent", func(w *world) { w.proxy.Blackhole(); time.Sleep(2 * childLease); w.proxy.Heal() }},
		{"half open", func(*world) { time.Sleep(time.Second) }}, // the processes make their own connections half open
		{"failover", func(w *world) { w.pair.failover(w.t); time.Sleep(2 * childLease) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			w := newWorld(t, fault.name)
			for end := time.Now().Add(length); time.Now().Before(end); {
				time.Sleep(rand.N(2 * childLease))
				fault.do(w)
			}
			w.conclude()
		})
	}
}

// world is a Redis, and the processes that take its locks.
type world struct {
	t      *testing.T
	server *testkit.RedisServer
	pair   *pair // used instead of a single server if the fault is a failover
	proxy  *testkit.Proxy
	task   childTask

	mu       sync.Mutex
	children []*child
	over     bool
	entries  []entry
	readers  sync.WaitGroup
}

func newWorld(t *testing.T, fault string) *world {
	w := &world{t: t}
	if fault == "failover" {
		w.pair = newPair(t)
		w.proxy = testkit.NewProxy(t, w.pair.listener.Addr().String())
	} else {
		w.server = testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
		w.proxy = testkit.NewProxy(t, w.server.Addr)
	}
	w.task = childTask{Do: "torture", Addr: w.proxy.Addr, Deaf: fault == "half open"}
	w.children = make([]*child, processes)
	for i := range processes {
		w.start(i)
	}
	return w
}

// start starts a child, and replaces it when it ends.
func (w *world) start(i int) {
	text, err := json.Marshal(w.task)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(context.Background(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = dieWithParent()
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.children[i] = c
	w.readers.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e entry
			if json.Unmarshal(lines.Bytes(), &e) == nil { // a killed child's last line may be cut off
				w.mu.Lock()
				w.entries = append(w.entries, e)
				w.mu.Unlock()
			}
		}
		_ = c.cmd.Wait() // its error says that it was killed
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.over {
			w.start(i)
		}
	})
}

func (w *world) pick() *child {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.children[rand.IntN(processes)]
}

// conclude ends all processes and checks their stays.
func (w *world) conclude() {
	w.mu.Lock()
	w.over = true
	for _, c := range w.children {
		_ = c.cmd.Process.Kill() // it may have ended already
	}
	w.mu.Unlock()
	w.readers.Wait()
	counts := map[string]int{}
	of := map[string][]entry{}
	for _, e := range w.entries {
		counts[e.Kind]++
		name := e.Kind
		if name == "Read" {
			name = "Write" // two sides of one lock
		}
		of[name] = append(of[name], e)
	}
	for name, entries := range of {
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.From, b.From) })
		w.check(name, entries)
	}
	for _, k := range kinds {
		if counts[k.name] == 0 {
			w.t.Errorf("nobody had the lock of kind %s", k.name)
		}
	}
	w.t.Logf("stays: %v", counts)
}

// check fails if stays overlap that must not, or if a token is not above those of stays that had ended before.
func (w *world) check(name string, entries []entry) {
	var alone, all entry // the stays that ended last so far: of the exclusive ones, and of all
	var highest int64    // of stays that have ended or were exclusive
	for _, e := range entries {
		shared := e.Kind == "Read"
		if e.From < alone.To || !shared && e.From < all.To {
			w.t.Errorf("%s: two holders at once: %+v beside %+v or %+v", name, e, alone, all)
		}
		if e.Token < highest || !shared && e.Token == highest {
			w.t.Errorf("%s: token %d after %d: %+v", name, e.Token, highest, e)
		}
		if e.To > all.To {
			all = e
		}
		if !shared {
			alone = e
		}
		highest = max(highest, e.Token)
	}
}

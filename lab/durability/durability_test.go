package durability

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// fault stops a Redis; recover returns the address of the Redis that serves afterwards.
type fault struct {
	name    string
	cause   func(*trial)
	recover func(*trial) (addr string)
}

func faults() []fault {
	return []fault{
		{"killed", kill, restarted},
		{"power cut", kill, func(tr *trial) string {
			tr.truncateToFlushed()
			return restarted(tr)
		}},
		{"failover", machineLost, promoted},
	}
}

func kill(tr *trial) { tr.master.Kill() }

func restarted(tr *trial) string {
	tr.master.Start()
	return tr.master.Addr
}

// machineLost loses the whole machine: writes that are on their way to the replica do not arrive.
func machineLost(tr *trial) {
	tr.master.Pause() // no answers from here on
	tr.proxy.Cut()
	tr.master.Kill()
}

func promoted(tr *trial) string {
	tr.must(tr.replica.Client().Do(tr.Context(), "replicaof", "no", "one").Err())
	return tr.replica.Addr
}

// truncateToFlushed truncates the append-only file to its flushed length.
func (tr *trial) truncateToFlushed() {
	tr.Helper()
	files, err := filepath.Glob(filepath.Join(tr.master.Dir, "appendonlydir", "*.incr.aof"))
	tr.must(err)
	if len(files) != 1 {
		tr.Fatalf("append-only files: %v", files)
	}
	text, err := os.ReadFile(files[0] + ".flushed")
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("0"), nil // nothing was flushed yet
	}
	tr.must(err)
	size, err := strconv.ParseInt(string(text), 10, 64)
	tr.must(err)
	tr.must(os.Truncate(files[0], size))
}

// TestDurability tries every level with every fault.
func TestDurability(t *testing.T) {
	t.Setenv("LD_PRELOAD", library(t))
	runs, least := 1, 300*time.Millisecond
	if os.Getenv(envReport) == "write" {
		runs, least = 5, 1500*time.Millisecond
	}
	rows := make([]row, len(levels()))
	for range runs { // in turn, so that a busy minute of the machine affects all levels
		for i, l := range levels() {
			rows[i].title = l.title
			for j, f := range faults() {
				t.Run(l.name+"/"+f.name, func(t *testing.T) {
					tr := open(t, l)
					tr.sell(least+rand.N(time.Second), func() { f.cause(tr) })
					lost, acknowledged := tr.lost(f.recover(tr)), tr.total()
					t.Logf("lost %d of %d", lost, acknowledged)
					if acknowledged == 0 {
						t.Error("no order was acknowledged")
					}
					if lost > 0 && slices.Contains(l.safe, f.name) {
						t.Errorf("%d of %d acknowledged orders are lost", lost, acknowledged)
					}
					rows[i].add(j, lost, acknowledged, tr.elapsed)
				})
			}
		}
	}
	if !t.Failed() {
		write(t, rows, runs)
	}
}

// library builds the library that records the flushes.
func library(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "flushed.so")
	compiler := cmp.Or(os.Getenv("CC"), "gcc")
	if text, err := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-O2", "-o", out,
		"testdata/flushed.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, text)
	}
	return out
}

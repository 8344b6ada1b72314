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

// fault takes Redis away and returns the address of what takes its place.
type fault struct {
	name   string
	strike func(*trial)
	heal   func(*trial) (addr string)
}

func faults() []fault {
	return []fault{
		{"killed", killed, again},
		{"power cut", killed, func(tr *trial) string {
			tr.cutBack()
			return again(tr)
		}},
		{"failover", vanished, promoted},
	}
}

func killed(tr *trial) { tr.master.Kill() }

func again(tr *trial) string {
	tr.master.Start()
	return tr.master.Addr
}

// vanished takes the whole machine away: what was on its way to the replica does not arrive.
func vanished(tr *trial) {
	tr.master.Pause() // from here on nobody is told anything
	tr.wire.Cut()
	tr.master.Kill()
}

func promoted(tr *trial) string {
	tr.must(tr.replica.Client().Do(tr.Context(), "replicaof", "no", "one").Err())
	return tr.replica.Addr
}

// cutBack leaves of the append-only file what was flushed.
func (tr *trial) cutBack() {
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
	for range runs { // in turn, so that a busy minute of the machine is everybody's
		for i, l := range levels() {
			rows[i].title = l.title
			for j, f := range faults() {
				t.Run(l.name+"/"+f.name, func(t *testing.T) {
					tr := open(t, l)
					tr.sell(least+rand.N(time.Second), func() { f.strike(tr) })
					lost, told := tr.lost(f.heal(tr)), tr.acknowledged()
					t.Logf("lost %d of %d", lost, told)
					if told == 0 {
						t.Error("nobody was told that he has an order")
					}
					if lost > 0 && slices.Contains(l.safe, f.name) {
						t.Errorf("%d of %d acknowledged orders are lost", lost, told)
					}
					rows[i].add(j, lost, told, tr.elapsed)
				})
			}
		}
	}
	if !t.Failed() {
		write(t, rows, runs)
	}
}

// library builds what notes the flushes.
func library(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "flushed.so")
	compiler := cmp.Or(os.Getenv("CC"), "gcc")
	if text, err := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-O2", "-o", out, "testdata/flushed.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler, err, text)
	}
	return out
}

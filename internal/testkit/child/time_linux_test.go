package child_test

import (
	"os/exec"
	"testing"
	"time"

	"seckill/internal/testkit/child"
)

// TestTimeOf checks that another process's CPU time is measured to a millisecond, and that a missing process has none.
func TestTimeOf(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; read wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	used := child.TimeOf(cmd.Process.Pid)
	_ = in.Close() // ends it
	_ = cmd.Wait() // its exit code is read's
	total := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if (used-total).Abs() > 10*time.Millisecond || used == 0 {
		t.Errorf("processor time %v; it took %v", used, total)
	}
	const nobody = 1 << 23 // more than Linux numbers
	for _, pid := range []int{0, nobody} {
		if got := child.TimeOf(pid); got != 0 {
			t.Errorf("process %d has had %v", pid, got)
		}
	}
}

package child

import (
	"os"
	"testing"
	"time"
)

// A process's time is what the kernel says of it; one that is not there has had none.
func TestTimeOf(t *testing.T) {
	t.Parallel()
	for began := time.Now(); TimeOf(os.Getpid()) == 0; {
		if time.Since(began) > time.Minute {
			t.Fatal("this process has had no time in a minute")
		}
	}
	const nobody = 1 << 23 // more than Linux numbers
	for _, pid := range []int{0, nobody} {
		if got := TimeOf(pid); got != 0 {
			t.Errorf("process %d has had %v", pid, got)
		}
	}
}

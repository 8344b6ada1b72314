package box

import (
	"testing"
	"time"
)

// Patience limits every wait for something that must happen soon. It is generous, because only failing tests use it up:
// a service notices dead consumers within seconds, but many programs may share two cores.
const Patience = 2 * time.Minute

// Eventually polls check until it returns nil. After [Patience] it fails the test with check's last error. It polls
// because other processes send no signal.
func Eventually(tb testing.TB, what string, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s did not happen within %v: %v", what, Patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

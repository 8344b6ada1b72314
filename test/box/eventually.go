package box

import (
	"testing"
	"time"
)

// Patience limits every wait for something that must happen soon. It is generous because only a failing test uses all
// of it: a service notices dead consumers within seconds, and two cores may be shared by many programs.
const Patience = 2 * time.Minute

// Eventually polls check until it returns nil, and fails the test with its last error after [Patience]. It polls
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

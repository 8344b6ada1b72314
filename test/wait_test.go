package test

import (
	"testing"
	"time"
)

// patience bounds every wait for something that must happen "soon". It is generous because nothing waits for it in
// vain on a healthy service: dead consumers are noticed after seconds, and two cores may be shared by several tests.
const patience = 45 * time.Second

// eventually asks check until it has no complaint, and fails the test with the last complaint when patience runs out.
// Processes signal nothing to each other here, so it polls.
func eventually(tb testing.TB, what string, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s did not happen within %v: %v", what, patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

package testkit

import (
	"testing"
	"time"
)

// Eventually polls ok until it returns true, and fails the test after a minute. It is for events that servers do not
// signal.
func Eventually(tb testing.TB, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	tb.Fatal("the condition did not hold within a minute")
}

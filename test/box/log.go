package box

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// Log keeps the output of all runs of a server, and prints it if the test fails.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// shownLog is how many bytes of a log are shown: the end, where the reason usually is.
const shownLog = 24 << 10

// newLog returns a log that is printed under the given name if the test fails.
func newLog(tb testing.TB, name string) *Log {
	tb.Helper()
	l := &Log{}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of %s:\n%s", name, l.tail())
		}
	})
	return l
}

// Write appends what the process writes; os/exec calls it from its own goroutine.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail returns the end of what was written.
func (l *Log) tail() string {
	s := l.String()
	if len(s) <= shownLog {
		return s
	}
	s = s[len(s)-shownLog:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + s
}

package test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// logbook keeps what a process wrote, over all its lives, and shows it when the test fails.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// keptLog bounds how much of a log is shown: its end, where the reason usually stands.
const keptLog = 24 << 10

// newLogbook returns a logbook that is printed under the given name if the test fails.
func newLogbook(tb testing.TB, name string) *logbook {
	tb.Helper()
	l := &logbook{}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of %s:\n%s", name, l.tail())
		}
	})
	return l
}

// Write takes what the process writes; os/exec calls it from a goroutine of its own.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything that was written.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail returns the end of what was written.
func (l *logbook) tail() string {
	s := l.String()
	if len(s) <= keptLog {
		return s
	}
	s = s[len(s)-keptLog:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + s
}

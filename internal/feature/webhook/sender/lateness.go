package sender

import (
	"sync"
	"time"
)

// lateness cancels a request whose answer has begun but takes longer than restTimeout.
type lateness struct {
	cancel func()

	mu    sync.Mutex
	timer *time.Timer // nil: the answer has not begun
	late  bool
}

// begin starts the timer at the answer's first byte. The transport may call it while Send goes on.
func (l *lateness) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		l.timer = time.AfterFunc(restTimeout, l.pass)
	}
}

func (l *lateness) pass() {
	l.mu.Lock()
	l.late = true
	l.mu.Unlock()
	l.cancel()
}

// passed reports whether the request was cancelled.
func (l *lateness) passed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.late
}

func (l *lateness) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

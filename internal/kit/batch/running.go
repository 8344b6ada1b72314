package batch

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Running counts goroutines, so that a clean stop can wait for them. Unlike with a sync.WaitGroup, others may begin
// while somebody waits: a stop meets requests that it has cut off, and jobs that go on asking. The zero value is ready.
type Running struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed once n is 0; nil if nobody waits
}

// Go calls f in a goroutine.
func (r *Running) Go(f func()) {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
	go func() {
		defer r.end()
		f()
	}()
}

func (r *Running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// Wait returns once no goroutine runs. Others may begin right after.
func (r *Running) Wait() {
	r.mu.Lock()
	idle := r.idle
	if r.n > 0 && idle == nil {
		idle = make(chan struct{})
		r.idle = idle
	}
	r.mu.Unlock()
	if idle != nil {
		<-idle
	}
}

// Safely calls f. A panic becomes an error, as in a request's own goroutine: a shared call serves many, and would
// otherwise end the process.
func Safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

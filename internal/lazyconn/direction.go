package lazyconn

import (
	"sync"
	"time"
)

// sooner is how much sooner than wanted a deadline may end.
const sooner = time.Second

// direction is the reads of a connection, or its writes.
type direction struct {
	apply func(deadline time.Time) error // at the socket

	mu     sync.Mutex
	wanted time.Time // the deadline
	set    time.Time // the one at the socket
	calls  int       // under way
}

// setDeadline sets the deadline of the calls that are under way and of all that follow.
func (d *direction) setDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if d.calls == 0 {
		return nil
	}
	return d.settle()
}

// do makes a call under the deadline.
func (d *direction) do(call func([]byte) (int, error), p []byte) (int, error) {
	d.mu.Lock()
	err := d.settle()
	d.calls++
	d.mu.Unlock()
	n := 0
	if err == nil {
		n, err = call(p)
	}
	d.mu.Lock()
	d.calls--
	d.mu.Unlock()
	return n, err
}

// settle sets the wanted deadline at the socket, unless one is there that is near enough. The caller has locked.
func (d *direction) settle() error {
	if d.set.IsZero() && d.wanted.IsZero() {
		return nil
	}
	if early := d.wanted.Sub(d.set); !d.set.IsZero() && early >= 0 && early < sooner {
		return nil
	}
	d.set = d.wanted
	return d.apply(d.wanted)
}

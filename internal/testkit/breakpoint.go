package testkit

import (
	"bytes"
	"sync"
)

// Match selects the request, or its answer, at which a breakpoint stops. Texts match in upper and lower case.
type Match struct {
	// Text must be in the request.
	Text string
	// After must be in an earlier request on the same connection, for example to find the COMMIT after a certain
	// INSERT. If empty, Text alone decides.
	After string
	// Answered: stop at the answer, after the server has handled the request. Otherwise stop at the request, before the
	// server gets it.
	Answered bool
}

// Breakpoint stops a matching request or answer until Release or Cut. The rest of that connection waits behind it;
// other connections are not affected.
type Breakpoint struct {
	text, after []byte // lower case
	answered    bool

	reached, released  chan struct{}
	reachOnce, endOnce sync.Once
	cut                bool // set before released is closed: nothing passes

	used   bool           // guarded by the proxy's mutex, like primed
	primed map[*link]bool // connections on which After was seen
}

// Break sets a breakpoint. Heal removes it.
func (p *Proxy) Break(m Match) *Breakpoint {
	b := &Breakpoint{
		text: bytes.ToLower([]byte(m.Text)), after: bytes.ToLower([]byte(m.After)), answered: m.Answered,
		reached: make(chan struct{}), released: make(chan struct{}), primed: map[*link]bool{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakpoints = append(p.breakpoints, b)
	return b
}

// Reached returns a channel that is closed when the breakpoint has stopped something.
func (b *Breakpoint) Reached() <-chan struct{} { return b.reached }

// Release lets the stopped request or answer pass.
func (b *Breakpoint) Release() { b.endOnce.Do(func() { close(b.released) }) }

// Cut drops the stopped request or answer and ends its connection on both sides, as when a process dies.
func (b *Breakpoint) Cut() {
	b.endOnce.Do(func() {
		b.cut = true
		close(b.released)
	})
}

// matches reports whether to stop this request. The caller holds the proxy's mutex.
func (b *Breakpoint) matches(l *link, lower []byte) bool {
	if b.used {
		return false
	}
	if len(b.after) > 0 && bytes.Contains(lower, b.after) {
		b.primed[l] = true
	}
	if !bytes.Contains(lower, b.text) || len(b.after) > 0 && !b.primed[l] {
		return false
	}
	b.used = true
	return true
}

// hold closes Reached and waits for Release or Cut. It reports whether the stopped data may pass.
func (b *Breakpoint) hold(l *link) bool {
	b.reachOnce.Do(func() { close(b.reached) })
	select {
	case <-b.released:
		return !b.cut
	case <-l.done:
		return false
	}
}

// breakpointFor returns the breakpoint that this request matches, or nil.
func (p *Proxy) breakpointFor(l *link, lower []byte) *Breakpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.breakpoints {
		if b.matches(l, lower) {
			return b
		}
	}
	return nil
}

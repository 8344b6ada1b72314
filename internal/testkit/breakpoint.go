package testkit

import (
	"bytes"
	"sync"
)

// Match describes the request, or its answer, at which a breakpoint stops. Texts are found in requests in upper and
// lower case.
type Match struct {
	// Text is in the request.
	Text string
	// After is in an earlier request of the same connection, to distinguish the COMMIT of a certain INSERT from others.
	// Empty: any request with Text matches.
	After string
	// Answered: stop at the answer, when the server has handled the request. Otherwise stop at the request, before the
	// server gets it.
	Answered bool
}

// Breakpoint is a trap for a [Moment]. What it caught does not pass until Release or Cut; the rest of that connection
// waits behind it, and other connections notice nothing.
type Breakpoint struct {
	text, after []byte // lower case
	answered    bool

	reached, released  chan struct{}
	reachOnce, endOnce sync.Once
	cut                bool // set before released is closed: nothing passes

	used   bool           // guarded by the mutex of the proxy, like primed
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

// Reached is closed when something is stopped.
func (b *Breakpoint) Reached() <-chan struct{} { return b.reached }

// Release lets pass what is stopped.
func (b *Breakpoint) Release() { b.endOnce.Do(func() { close(b.released) }) }

// Cut drops what is stopped and ends its connection on both sides, as it ends when a process dies.
func (b *Breakpoint) Cut() {
	b.endOnce.Do(func() {
		b.cut = true
		close(b.released)
	})
}

// matches reports whether this request on the link is the one to stop; the proxy's mutex is held.
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

// hold closes Reached and waits for Release or Cut. It reports whether what is stopped may pass.
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

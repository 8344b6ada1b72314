package testkit

import (
	"bytes"
	"sync"
)

// Moment is a point in the conversation of a client with its server that a fault is meant for. Texts are looked for in
// requests, in upper or lower case.
type Moment struct {
	// Text is in the request.
	Text string
	// After is in an earlier request of the same connection, so that the COMMIT of a certain INSERT can be told from
	// others. Empty: any request with Text will do.
	After string
	// Answered says that the server has dealt with the request and the client does not know it yet. Otherwise the client
	// has sent it and the server does not know it yet.
	Answered bool
}

// Catch is a trap for a [Moment]. What it caught does not pass until Release or Cut; the rest of that connection waits
// behind it, and other connections notice nothing.
type Catch struct {
	text, after []byte // lower case
	answered    bool

	caught, passed  chan struct{}
	caughtOnce, end sync.Once
	cut             bool // before passed is closed: nothing passes

	taken bool           // guarded by the mutex of the proxy, like prime
	prime map[*link]bool // connections on which After was seen
}

// Catch sets a trap for the next such moment. Heal removes it.
func (p *Proxy) Catch(m Moment) *Catch {
	c := &Catch{
		text: bytes.ToLower([]byte(m.Text)), after: bytes.ToLower([]byte(m.After)), answered: m.Answered,
		caught: make(chan struct{}), passed: make(chan struct{}), prime: map[*link]bool{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catches = append(p.catches, c)
	return c
}

// Caught is closed when the moment has come.
func (c *Catch) Caught() <-chan struct{} { return c.caught }

// Release lets pass what was caught, however late.
func (c *Catch) Release() { c.end.Do(func() { close(c.passed) }) }

// Cut throws away what was caught and ends its connection on both sides, as it ends when a process dies.
func (c *Catch) Cut() {
	c.end.Do(func() {
		c.cut = true
		close(c.passed)
	})
}

// wants reports whether this request on the link is the moment's; the proxy's mutex is held.
func (c *Catch) wants(l *link, lower []byte) bool {
	if c.taken {
		return false
	}
	if len(c.after) > 0 && bytes.Contains(lower, c.after) {
		c.prime[l] = true
	}
	if !bytes.Contains(lower, c.text) || len(c.after) > 0 && !c.prime[l] {
		return false
	}
	c.taken = true
	return true
}

// hold says that the moment has come and waits until it may pass. It returns false when it may not.
func (c *Catch) hold(l *link) bool {
	c.caughtOnce.Do(func() { close(c.caught) })
	select {
	case <-c.passed:
		return !c.cut
	case <-l.done:
		return false
	}
}

// catchFor returns the trap that this request springs, or nil.
func (p *Proxy) catchFor(l *link, lower []byte) *Catch {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.catches {
		if c.wants(l, lower) {
			return c
		}
	}
	return nil
}

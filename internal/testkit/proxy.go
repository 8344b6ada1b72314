package testkit

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on 127.0.0.1 that fails on demand. Without a fault it forwards bytes both ways. Its methods may
// be called at any time from any goroutine; a fault concerns what is read after the call.
//
// It works on what one read returns, at most 64 kB, which for a request and for a reply of a client that waits for
// each answer is the whole of it. Pipelined replies behind a lost one are lost with it, for their connection ends.
type Proxy struct {
	// Addr is the proxy's host:port.
	Addr string

	gates []gate
	names []rename // of addresses in replies
	wg    sync.WaitGroup

	mu          sync.Mutex
	conns       map[*link]struct{} // nil once closed
	drops       int                // replies still to be lost, whatever they answer
	match       []byte             // lower case; requests that contain it lose their replies
	matches     int                // how many still
	lost        int                // replies lost so far
	delay       time.Duration
	cut         bool
	hole        chan struct{} // not nil in a black hole; closed when it is over
	refuse      []byte        // lower case; requests that contain it end their connections; nil for none
	refused     int           // how many so far
	breakpoints []*Breakpoint
}

// gate is a listener of a proxy and the host:port behind it.
type gate struct {
	listener net.Listener
	target   string
}

// link is one client's connection and its counterpart to the target.
type link struct {
	client, target net.Conn
	done           chan struct{} // closed when the link is
	closeOnce      sync.Once

	mu   sync.Mutex
	lose bool        // the next reply is to be lost
	held *Breakpoint // of the next reply, nil for none
}

// NewProxy starts a proxy to the target, a host:port; it is closed at the end of the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return newProxy(tb, target)
}

// newProxy starts a proxy to several targets, each with a listener of its own.
func newProxy(tb testing.TB, targets ...string) *Proxy {
	tb.Helper()
	p := &Proxy{conns: map[*link]struct{}{}}
	tb.Cleanup(p.close)
	var lc net.ListenConfig
	for _, target := range targets {
		l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatalf("testkit: proxy: %v", err)
		}
		p.gates = append(p.gates, gate{l, target})
	}
	p.Addr = p.gates[0].listener.Addr().String()
	for _, g := range p.gates {
		p.wg.Go(func() { p.accept(g) })
	}
	return p
}

// DropReplies loses the next n replies: each is read from the target, thrown away, and its connection is reset. The
// client cannot know whether its request took effect; it did.
func (p *Proxy) DropReplies(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops = n
}

// DropRepliesTo loses the replies to the next n requests that contain the text, in upper or lower case, as DropReplies
// does: "evalsha", "xack", "COMMIT". A connection's greeting and other requests pass.
func (p *Proxy) DropRepliesTo(text string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.matches = bytes.ToLower([]byte(text)), n
}

// Lost returns how many replies were lost so far, so that a test can check that its fault took place.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Refuse breaks the connection of every request that contains the text, in upper or lower case, before the server sees
// the request, until Heal. Other requests pass.
func (p *Proxy) Refuse(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = bytes.ToLower([]byte(text))
}

// Refused returns how many requests were refused so far.
func (p *Proxy) Refused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Delay makes everything wait for d in each direction, so that a round trip takes 2d longer.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Reset breaks the present connections. New ones work.
func (p *Proxy) Reset() {
	p.mu.Lock()
	links := p.links()
	p.mu.Unlock()
	for _, l := range links {
		l.close()
	}
}

// Cut breaks all connections, and new ones as soon as they are made, until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Reset()
}

// Blackhole keeps all connections open, accepts new ones, and lets nothing pass until Heal. Then what was sent in the
// meantime arrives, late, as TCP would deliver it after a partition.
func (p *Proxy) Blackhole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole == nil {
		p.hole = make(chan struct{})
	}
}

// Heal ends all faults, also those that have not taken place yet. What is stopped passes.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drops, p.match, p.matches, p.delay, p.cut, p.refuse = 0, nil, 0, 0, false, nil
	for _, b := range p.breakpoints {
		b.Release()
	}
	p.breakpoints = nil
	if p.hole != nil {
		close(p.hole)
		p.hole = nil
	}
}

// links returns the open links; mu is held.
func (p *Proxy) links() []*link {
	links := make([]*link, 0, len(p.conns))
	for l := range p.conns {
		links = append(links, l)
	}
	return links
}

// close ends the proxy and waits for its goroutines.
func (p *Proxy) close() {
	for _, g := range p.gates {
		_ = g.listener.Close() // accept returns
	}
	p.mu.Lock()
	links := p.links()
	p.conns = nil
	p.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	p.wg.Wait()
}

// accept makes a link for every connection until the listener is closed.
func (p *Proxy) accept(g gate) {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client, g.target) })
	}
}

// serve forwards one connection's bytes until either side ends it.
func (p *Proxy) serve(client net.Conn, addr string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var d net.Dialer
	target, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, target: target, done: make(chan struct{})}
	defer l.close()
	p.mu.Lock()
	refused := p.cut || p.conns == nil
	if !refused {
		p.conns[l] = struct{}{}
	}
	p.mu.Unlock()
	if refused {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.pump(l, client, target, p.request) })
	wg.Go(func() { p.pump(l, target, client, p.reply) })
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

// pump copies from one side to the other what inspect lets pass, and closes the link at the end.
func (p *Proxy) pump(l *link, from, to net.Conn, inspect func(*link, []byte) bool) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil || !p.wait(l) || !inspect(l, buf[:n]) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// wait waits for the end of a black hole and of the delay; false: the link was closed.
func (p *Proxy) wait(l *link) bool {
	p.mu.Lock()
	hole, delay := p.hole, p.delay
	p.mu.Unlock()
	if hole != nil {
		select {
		case <-hole:
		case <-l.done:
			return false
		}
	}
	if delay > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.done:
			return false
		}
	}
	return true
}

// request reports whether the server may see this request, and marks the link when its reply is to be lost or held.
func (p *Proxy) request(l *link, b []byte) bool {
	lower := bytes.ToLower(b)
	p.mu.Lock()
	hit := p.matches > 0 && bytes.Contains(lower, p.match)
	if hit {
		p.matches--
	}
	refused := p.refuse != nil && bytes.Contains(lower, p.refuse)
	if refused {
		p.refused++
	}
	p.mu.Unlock()
	if refused {
		return false
	}
	stop := p.breakpointFor(l, lower)
	if stop != nil && !stop.answered {
		return stop.hold(l)
	}
	if hit || stop != nil {
		l.mu.Lock()
		l.lose = l.lose || hit
		l.held = stop
		l.mu.Unlock()
	}
	return true
}

// reply reports whether the client may see this reply.
func (p *Proxy) reply(l *link, b []byte) bool {
	p.renameIn(b)
	l.mu.Lock()
	lose, held := l.lose, l.held
	l.held = nil
	l.mu.Unlock()
	if held != nil && !held.hold(l) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !lose && p.drops > 0 {
		p.drops--
		lose = true
	}
	if lose {
		p.lost++
	}
	return !lose
}

// close resets the client's connection and closes the target's normally: what was forwarded still arrives there.
func (l *link) close() {
	l.closeOnce.Do(func() {
		close(l.done)
		reset(l.client)
		_ = l.target.Close() // nothing is left to write
	})
}

// reset closes a connection so that its peer gets an error at once, not an EOF.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // else it closes normally, which is good enough
	}
	_ = c.Close() // nothing is left to lose
}

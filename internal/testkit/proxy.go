package testkit

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Proxy is a TCP proxy on 127.0.0.1 that fails on demand. Without a fault it forwards bytes in both directions. Its
// methods may be called at any time from any goroutine; a fault affects only data read after the call.
//
// It treats the result of one read, at most 64 kB, as a whole request or reply, which is right for clients that wait
// for each answer. Pipelined replies after a lost one are lost as well, because their connection ends.
type Proxy struct {
	// Addr is the proxy's host:port.
	Addr string

	gates []gate
	names []rename // of addresses in replies
	wg    sync.WaitGroup

	mu          sync.Mutex
	conns       map[*link]struct{} // nil once closed
	match       []byte             // lower case; requests that contain it lose their replies
	matches     int                // how many more requests match applies to
	lost        int                // replies lost so far
	delay       time.Duration
	cut         bool
	hole        chan struct{} // not nil during a black hole; closed when it ends
	refuse      []byte        // lower case; requests that contain it end their connections; nil for none
	refused     int           // number of refused requests so far
	answer      []byte        // lower case; requests that contain it get the reply, and not the server's; nil for none
	answerWith  []byte
	breakpoints []*Breakpoint
}

// gate is a listener of the proxy with its target.
type gate struct {
	listener net.Listener
	target   string
}

// link is one client's connection and its counterpart to the target.
type link struct {
	client, target net.Conn
	done           chan struct{} // closed with the link
	closeOnce      sync.Once

	mu   sync.Mutex
	lose bool        // the next reply is to be lost
	held *Breakpoint // stops the next reply; nil for none
}

// NewProxy starts a proxy to the target, a host:port. The end of the test closes it.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	return newProxy(tb, target)
}

// newProxy starts a proxy to several targets, each with its own listener.
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

// DropRepliesTo loses the replies to the next n requests that contain the text, in upper or lower case, such as
// "evalsha", "xack" or "COMMIT": each is read from the target and discarded, and its connection is reset. The requests
// take effect, but the clients cannot know that. Greetings and other requests pass.
func (p *Proxy) DropRepliesTo(text string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.matches = bytes.ToLower([]byte(text)), n
}

// Lost returns how many replies were lost so far, so that a test can check that its fault happened.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Refuse breaks the connection of every request that contains the text, in upper or lower case, before the server gets
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

// Answer answers every request that contains the text, in upper or lower case, with the reply, and keeps it from the
// server, until Heal.
func (p *Proxy) Answer(text string, reply []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer, p.answerWith = bytes.ToLower([]byte(text)), reply
}

// Delay delays all data by d in each direction, so that a round trip takes 2d longer.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Reset breaks the existing connections. New ones work.
func (p *Proxy) Reset() {
	p.mu.Lock()
	links := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, l := range links {
		l.close()
	}
}

// Cut breaks all connections, including new ones, until Heal.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.Reset()
}

// Blackhole keeps all connections open, accepts new ones, and forwards nothing until Heal. Then the data sent meanwhile
// arrives late, as TCP would deliver it after a partition.
func (p *Proxy) Blackhole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole == nil {
		p.hole = make(chan struct{})
	}
}

// Heal ends all faults, including pending ones. Stopped data passes.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.matches, p.delay, p.cut, p.refuse, p.answer = nil, 0, 0, false, nil, nil
	for _, b := range p.breakpoints {
		b.Release()
	}
	p.breakpoints = nil
	if p.hole != nil {
		close(p.hole)
		p.hole = nil
	}
}

// close ends the proxy and waits for its goroutines.
func (p *Proxy) close() {
	for _, g := range p.gates {
		_ = g.listener.Close() // accept returns
	}
	p.mu.Lock()
	links := slices.Collect(maps.Keys(p.conns))
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
	wg.Go(func() { p.pump(l, client, answering{target, client, p}, p.request) })
	wg.Go(func() { p.pump(l, target, client, p.reply) })
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

// answering is the target's side of a link; what the proxy answers itself does not reach it.
type answering struct {
	target, client net.Conn
	proxy          *Proxy
}

func (a answering) Write(b []byte) (int, error) {
	a.proxy.mu.Lock()
	text, reply := a.proxy.answer, a.proxy.answerWith
	a.proxy.mu.Unlock()
	if text == nil || !bytes.Contains(bytes.ToLower(b), text) {
		return a.target.Write(b)
	}
	if _, err := a.client.Write(reply); err != nil {
		return 0, err
	}
	return len(b), nil
}

// pump copies data from one side to the other if inspect lets it pass, and closes the link at the end.
func (p *Proxy) pump(l *link, from io.Reader, to io.Writer, inspect func(*link, []byte) bool) {
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

// wait waits until a black hole and the delay are over. It returns false if the link was closed.
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
		select {
		case <-time.After(delay):
		case <-l.done:
			return false
		}
	}
	return true
}

// request reports whether the server may get this request, and marks the link if its reply is to be lost or stopped.
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

// reply reports whether the client may get this reply.
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
	if lose {
		p.lost++
	}
	return !lose
}

// close resets the client's connection and closes the target's normally, so that forwarded data still arrives.
func (l *link) close() {
	l.closeOnce.Do(func() {
		close(l.done)
		reset(l.client)
		_ = l.target.Close() // nothing is left to write
	})
}

// reset closes a connection so that its peer gets an error immediately, not an EOF.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // if it fails, a normal close is good enough
	}
	_ = c.Close() // nothing is left to lose
}

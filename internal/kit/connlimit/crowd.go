package connlimit

import (
	"net/netip"
	"time"
)

// crowdedFor is for how long a peer may hold no more than half of the limit once it had to make room for others: it may
// open another connection whenever one is closed.
const crowdedFor = time.Minute

// crowd is which peer holds more than half of the limit. There is one at most.
type crowd struct {
	half  int64
	of    map[netip.Addr]int64 // how many each peer holds
	peer  netip.Addr           // the zero one: none
	until time.Time            // until when none may hold more
}

func newCrowd(limit int) crowd {
	return crowd{half: max(1, int64(limit)/2), of: map[netip.Addr]int64{}}
}

func (s *crowd) add(peer netip.Addr) {
	s.of[peer]++
	if s.of[peer] > s.half {
		s.peer = peer
	}
}

func (s *crowd) remove(peer netip.Addr) {
	s.of[peer]--
	if s.peer == peer && s.of[peer] <= s.half {
		s.peer = netip.Addr{}
	}
	if s.of[peer] == 0 {
		delete(s.of, peer)
	}
}

// mayHold reports whether a peer may hold another connection, if there is room.
func (l *Listener) mayHold(peer netip.Addr) bool {
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	s := &l.conns.crowd
	return s.of[peer] < s.half || !l.now().Before(s.until) || l.exempt(peer)
}

// disperse has a peer that holds more than half of the limit make room for another peer: it closes what it holds beyond
// half and has no request under way, however short a time ago the last one was. It reports whether there was any.
func (l *Listener) disperse(newcomer netip.Addr) bool {
	excess := l.excess(newcomer)
	for _, c := range excess {
		_ = c.Close() // no request is under way
	}
	return len(excess) > 0
}

// excess returns the connections to close.
func (l *Listener) excess(newcomer netip.Addr) (found []*conn) {
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	s := &l.conns.crowd
	if !s.peer.IsValid() || s.peer == newcomer || l.exempt(s.peer) {
		return nil
	}
	for c := range l.conns.conns {
		if c.peer == s.peer && c.idleSince.Load() != busy && int64(len(found)) < s.of[s.peer]-s.half {
			found = append(found, c)
		}
	}
	if len(found) > 0 {
		s.until = l.now().Add(crowdedFor)
	}
	return found
}

package connlimit

import (
	"net/netip"
	"time"
)

// crowdedFor is how long no peer may exceed half of the limit after one had to make room for others. Without it, that
// peer could open a new connection whenever one is closed.
const crowdedFor = time.Minute

// crowd counts the connections of each peer, and knows the peer that holds more than half of the limit. At most one
// does.
type crowd struct {
	half  int64
	of    map[netip.Addr]int64 // connections of each peer
	peer  netip.Addr           // holds more than half; the zero address: no peer does
	until time.Time            // no peer may hold more than half before this time
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

// excess returns connections to close for another peer if one holds more than half of the limit: that peer's beyond
// half, if they have no request under way, however recent their last request.
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

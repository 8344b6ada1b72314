package journal

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/order"
)

const (
	shards   = 32  // a power of two
	maxSpans = 200 // of a sale
	// roomFrom is the part of a sale's memory from which on an address has room for a roomPart-th of it.
	roomFrom, roomPart = 2, 64
)

// sale is what an instance remembers of one sale.
type sale struct {
	journal   *Journal
	voucherID int64
	run       int64 // random: an instance that remembers a sale anew is another one
	made      time.Time
	shards    [shards]shard
	spans     spans
	rooms     rooms
	users     atomic.Int64 // users remembered
	missed    atomic.Int64 // refusals without room
	written   atomic.Int64 // users written

	// Used by the Writer alone.
	seen     int64 // users at its last look
	waiting  time.Time
	changed  time.Time
	reported Note
}

// shard has a part of the users.
type shard struct {
	mu       sync.Mutex
	users    map[int64]noted
	pending  []int64 // users to be written
	released bool
}

// noted is a refusal in memory.
type noted struct {
	at     int64 // Unix milliseconds
	within int32 // milliseconds
	code   uint8
}

func newSale(j *Journal, voucherID int64) *sale {
	s := &sale{journal: j, voucherID: voucherID, run: rand.Int64(), made: time.Now()} //nolint:gosec // tells rows apart
	for i := range s.shards {
		s.shards[i].users = make(map[int64]noted)
	}
	s.rooms.users = make(map[uint64]int32)
	return s
}

func (s *sale) shard(userID int64) *shard {
	const golden = 0x9e3779b97f4a7c15 // spreads consecutive ids (Knuth, volume 3, section 6.4)
	return &s.shards[uint64(userID)*golden>>59]
}

// note remembers a user's first refusal, now, or counts it if there is no room. It returns false if the sale was
// released.
func (s *sale) note(userID int64, code uint8, address func() netip.Addr) bool {
	h := s.shard(userID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return false
	}
	if _, known := h.users[userID]; known {
		return true
	}
	at, within, ok := s.journal.clock(s.voucherID)
	if !ok {
		return true
	}
	if s.full() || !s.enter(roomOf(address())) {
		s.missed.Add(1)
		return true
	}
	h.users[userID] = noted{at.UnixMilli(), millis(within), code}
	h.pending = append(h.pending, userID)
	return true
}

// full reports whether no user has room: enter would say so, too, and count up and down for it.
func (s *sale) full() bool { return s.users.Load() >= s.journal.most }

// enter takes room for one more user.
func (s *sale) enter(room uint64) bool {
	j := s.journal
	users := s.users.Add(1)
	if all := j.users.Add(1); users > j.most || all > salesTogether*j.most ||
		!s.rooms.enter(room, users > j.most/roomFrom, max(1, j.most/roomPart)) {
		s.users.Add(-1)
		j.users.Add(-1)
		return false
	}
	return true
}

// rooms counts the users of each address.
type rooms struct {
	mu    sync.Mutex
	users map[uint64]int32
}

// enter counts a user. If the rooms are bounded, each has at most so many.
func (r *rooms) enter(room uint64, bounded bool, most int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bounded && int64(r.users[room]) >= most {
		return false
	}
	r.users[room]++
	return true
}

func (s *sale) find(userID int64) (Refusal, bool) {
	h := s.shard(userID)
	h.mu.Lock()
	defer h.mu.Unlock()
	n, known := h.users[userID]
	return s.refusal(userID, n), known
}

func (s *sale) refusal(userID int64, n noted) Refusal {
	return Refusal{
		VoucherID: s.voucherID, UserID: userID, Run: s.run, At: time.UnixMilli(n.at).UTC(),
		Within: time.Duration(n.within) * time.Millisecond, Code: codes[n.code].code,
	}
}

// take takes up to n refusals to be written.
func (s *sale) take(n int) (all []Refusal) {
	for i := range s.shards {
		h := &s.shards[i]
		h.mu.Lock()
		part := min(n-len(all), len(h.pending))
		for _, userID := range h.pending[len(h.pending)-part:] {
			all = append(all, s.refusal(userID, h.users[userID]))
		}
		if h.pending = h.pending[:len(h.pending)-part]; len(h.pending) == 0 {
			h.pending = nil
		}
		h.mu.Unlock()
	}
	return all
}

// putBack has refusals written later.
func (s *sale) putBack(all []Refusal) {
	for _, r := range all {
		h := s.shard(r.UserID)
		h.mu.Lock()
		h.pending = append(h.pending, r.UserID)
		h.mu.Unlock()
	}
}

// release forgets the sale if all is written.
func (s *sale) release() {
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
	defer func() {
		for i := range s.shards {
			s.shards[i].mu.Unlock()
		}
	}()
	for i := range s.shards {
		if len(s.shards[i].pending) > 0 {
			return
		}
	}
	for i := range s.shards {
		s.shards[i].released = true
	}
	s.journal.sales.CompareAndDelete(s.voucherID, s)
	s.journal.users.Add(-s.users.Load())
}

// Note is what one instance noted of a sale, beside the refusals.
type Note struct {
	VoucherID, Run int64
	Made           time.Time // when the instance began to remember the sale, by its clock
	Users          int64     // whose refusals it remembers
	Written        int64     // users of those whose refusals are written
	Missed         int64     // refusals without room
	Spans          []Span
	MoreSpans      int64 // without room
}

func (n *Note) equal(o *Note) bool {
	return n.Users == o.Users && n.Written == o.Written && n.Missed == o.Missed && n.MoreSpans == o.MoreSpans &&
		len(n.Spans) == len(o.Spans) && (len(n.Spans) == 0 || n.Spans[len(n.Spans)-1] == o.Spans[len(o.Spans)-1])
}

// state returns what is noted now. written is read first, so that it is never more than Users.
func (s *sale) state() Note {
	n := Note{VoucherID: s.voucherID, Run: s.run, Made: s.made, Written: s.written.Load(), Missed: s.missed.Load()}
	n.Users = max(n.Written, s.users.Load())
	n.Spans, n.MoreSpans = s.spans.all()
	return n
}

// Span is a time, by Redis's clock, at whose beginning and end no unit of a sale was left, and in which nobody was
// admitted.
type Span struct{ From, To time.Time }

// spans are the times at which a sale was sold out.
type spans struct {
	mu     sync.Mutex
	spans  []Span
	more   int64
	mark   order.Mark
	open   bool // the last answer was sold out, at mark
	missed bool // the open span had no room
}

// observe adds an answer of Redis. An admission raises the mark: then a unit had been back, and a new span begins.
func (p *spans) observe(at time.Time, mark order.Mark, soldOut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !soldOut:
		p.open = false
	case p.open && p.mark == mark:
		if last := len(p.spans) - 1; !p.missed && at.After(p.spans[last].To) {
			p.spans[last].To = at
		}
	default:
		p.open, p.mark, p.missed = true, mark, len(p.spans) == maxSpans
		if p.missed {
			p.more++
			return
		}
		p.spans = append(p.spans, Span{at, at})
	}
}

func (p *spans) all() ([]Span, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.spans), p.more
}

package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// runs is a journal whose clock shows noon and a millisecond more at each look.
func runs(most int64) *Journal {
	var mu sync.Mutex
	now := noon
	return NewJournal(most, func(voucherID int64) (time.Time, time.Duration, bool) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Millisecond)
		return now, 3*time.Millisecond + 1, voucherID != unknown
	})
}

// unknown is a voucher of whose sale Redis has told nothing.
const unknown = 4711

func address(n int) func() netip.Addr {
	return func() netip.Addr {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n))
		return netip.AddrFrom4(b)
	}
}

// The first final refusal wins, whatever comes when; each user has room or is counted; and what is taken to be written
// is each remembered refusal, once.
func TestTheFirstRefusalWins(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const most = 300
	j, first, missed := runs(most), map[int64]string{}, int64(0)
	answers := []string{"SOLD_OUT", "SHARE_TAKEN", "ENDED", "NOT_STARTED", "PAUSED", "UNKNOWN_OUTCOME", "RATE_LIMITED"}
	for range 20_000 {
		user, answer := random.Int64N(2*most), answers[random.IntN(len(answers))]
		_, final := codeOf(answer)
		_, known := j.Find(1, user)
		if final && !known && int64(len(first)) == most {
			missed++
		}
		if final && !known && len(first) < most {
			first[user] = answer
		}
		j.Refused(1, user, answer, address(random.IntN(1_000_000)))
	}
	for user := range int64(2 * most) {
		if r, known := j.Find(1, user); known != (first[user] != "") || known && r.Code != first[user] {
			t.Errorf("user %d: %+v, want %q", user, r, first[user])
		}
	}
	n, _ := j.Note(1)
	if n.Users != most || n.Missed != missed || missed == 0 {
		t.Errorf("%+v, want %d users and %d missed", n, most, missed)
	}
	s, written := j.find(1), map[int64]bool{}
	for part := s.take(7); len(part) > 0; part = s.take(7) {
		for _, r := range part {
			if written[r.UserID] || r.Code != first[r.UserID] || r.Within != 4*time.Millisecond || r.Run != n.Run {
				t.Fatalf("%+v", r)
			}
			written[r.UserID] = true
		}
	}
	if len(written) != most {
		t.Errorf("%d are written", len(written))
	}
}

// One address with many accounts leaves half of the room to others, and so does one customer of a provider in IPv6. All
// sales together have a bound, too.
func TestRoom(t *testing.T) {
	t.Parallel()
	const most = 640
	for name, of := range map[string]func(i int) netip.Addr{
		"an address": func(int) netip.Addr { return netip.MustParseAddr("192.0.2.7") },
		"a /48": func(i int) netip.Addr {
			b := netip.MustParseAddr("2001:db8::").As16()
			binary.BigEndian.PutUint32(b[6:], uint32(i))
			return netip.AddrFrom16(b)
		},
		"unreadable": func(int) netip.Addr { return netip.Addr{} },
	} {
		j := runs(most)
		for i := range 10 * most {
			j.Refused(1, int64(i), "SOLD_OUT", func() netip.Addr { return of(i) })
		}
		if n, _ := j.Note(1); n.Users != most/roomFrom || n.Missed != 10*most-most/roomFrom {
			t.Errorf("%s: %d users, %d missed", name, n.Users, n.Missed)
		}
		for i := range most {
			j.Refused(1, int64(100*most+i), "SOLD_OUT", address(i%100))
		}
		if n, _ := j.Note(1); n.Users != most {
			t.Errorf("%s: others had no room: %d users", name, n.Users)
		}
	}
	j := runs(most)
	for sale := range int64(2 * salesTogether) {
		for i := range most {
			j.Refused(1+sale, int64(i), "SOLD_OUT", address(i))
		}
	}
	if n := j.users.Load(); n != salesTogether*most {
		t.Errorf("%d users in all", n)
	}
	if j.Refused(unknown, 1, "RATE_LIMITED", address(1)); j.find(unknown) != nil {
		t.Error("a made-up voucher has memory")
	}
}

// Spans are what the script proved: one ends with its last sold-out answer, and a unit that was back begins another.
func TestSpans(t *testing.T) {
	t.Parallel()
	j := runs(10)
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	see := func(ms int, sequence int64, soldOut bool) {
		j.Observed(1, &order.SaleView{Now: at(ms), Mark: order.Mark{Epoch: 1, Sequence: sequence}}, soldOut)
	}
	see(100, 1, false)
	if j.find(1) != nil {
		t.Error("a sale that was never sold out has memory")
	}
	see(298, 2, true)
	see(900, 2, true)
	see(1500, 3, true) // somebody was admitted in between
	see(1600, 3, false)
	see(1700, 3, true)
	n, _ := j.Note(1)
	want := []Span{{at(298), at(900)}, {at(1500), at(1500)}, {at(1700), at(1700)}}
	if diff := cmp.Diff(want, n.Spans); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * maxSpans {
		see(2000+i, int64(10+i), true)
	}
	if n, _ := j.Note(1); len(n.Spans) != maxSpans || n.MoreSpans != 2*maxSpans+3-maxSpans {
		t.Errorf("%d spans and %d more", len(n.Spans), n.MoreSpans)
	}
	merged := merge([]Span{{at(5), at(9)}, {at(1), at(3)}, {at(3), at(4)}, {at(6), at(7)}, {at(20), at(20)}})
	if diff := cmp.Diff([]Span{{at(1), at(4)}, {at(5), at(9)}, {at(20), at(20)}}, merged); diff != "" {
		t.Error(diff)
	}
}

// memory is a Store in memory that can be made to fail.
type memory struct {
	mu    sync.Mutex
	fails error
	rows  map[[3]int64]Refusal
	notes map[int64]Note
}

func (m *memory) WriteRefusals(_ context.Context, all []Refusal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range all {
		if key := [3]int64{r.VoucherID, r.UserID, r.Run}; m.fails == nil {
			m.rows[key] = r
		}
	}
	return m.fails
}

func (m *memory) WriteNote(_ context.Context, n Note) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails == nil {
		m.notes[n.Run] = n
	}
	return m.fails
}

// Refusals are written once the rush is over, or after a minute. What fails is written later, what is left at the end,
// and then the sale is forgotten and remembered anew.
func TestWriter(t *testing.T) {
	t.Parallel()
	m := &memory{rows: map[[3]int64]Refusal{}, notes: map[int64]Note{}}
	j := runs(1000)
	w := NewWriter(j, m, time.Second, slog.New(slog.DiscardHandler))
	refuse := func(from, to int64) {
		for user := from; user < to; user++ {
			j.Refused(1, user, "SOLD_OUT", address(int(user)))
		}
	}
	look := func(after time.Duration, rows int, written int64) {
		t.Helper()
		w.look(t.Context(), noon.Add(after), false)
		s := j.find(1)
		if len(m.rows) != rows || m.notes[s.run].Written != written {
			t.Errorf("after %v: %d rows and %+v, want %d", after, len(m.rows), m.notes[s.run], rows)
		}
	}
	refuse(0, 100)
	look(0, 0, 0) // the rush
	refuse(100, 160)
	look(5*time.Second, 0, 0)
	m.fails = errors.New("away")
	look(10*time.Second, 0, 0)
	m.fails = nil
	look(15*time.Second, 160, 160)
	for i := range int64(12) { // a rush that goes on
		refuse(200+60*i, 260+60*i)
		look(20*time.Second+5*time.Second*time.Duration(i), 160, 160)
	}
	refuse(930, 990)
	look(80*time.Second, 940, 940)
	refuse(990, 1000)
	w.rest(t.Context())
	if n := j.find(1).state(); len(m.rows) != 950 || n.Written != n.Users || n.Users != 950 {
		t.Errorf("at the end: %d rows, %+v", len(m.rows), n)
	}
	old := j.find(1)
	w.look(t.Context(), time.Now().Add(time.Hour), false)
	if j.find(1) != nil || j.users.Load() != 0 || !old.shards[0].released {
		t.Errorf("an idle sale is kept, with %d users", j.users.Load())
	}
	refuse(0, 1)
	if s := j.find(1); s == nil || s.run == old.run {
		t.Error("it is not remembered anew")
	}
}

// Refusals, observations, writing and forgetting at once lose nobody. For the race detector.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	const users = 20_000
	m := &memory{rows: map[[3]int64]Refusal{}, notes: map[int64]Note{}}
	j := runs(10 * users)
	w := NewWriter(j, m, time.Minute, slog.New(slog.DiscardHandler))
	var work sync.WaitGroup
	for part := range int64(4) {
		work.Go(func() {
			for user := range int64(users) {
				j.Refused(1, user, "SOLD_OUT", address(int(user)))
				if user%100 == part {
					j.Observed(1, &order.SaleView{Now: noon, Mark: order.Mark{Sequence: user}}, user%3 > 0)
					_, _ = j.Find(1, user)
				}
			}
		})
	}
	work.Go(func() {
		for range 50 {
			w.look(t.Context(), time.Now().Add(time.Hour), true)
			if s := j.find(1); s != nil {
				s.release()
			}
		}
	})
	work.Wait()
	w.rest(t.Context())
	seen := map[int64]bool{}
	for key := range m.rows {
		seen[key[1]] = true
	}
	written := int64(0)
	for _, n := range m.notes {
		written += n.Written
	}
	if len(seen) != users || written != int64(len(m.rows)) {
		t.Errorf("%d users are written, want %d, in %d rows; %d are counted", len(seen), users, len(m.rows), written)
	}
}

// A first refusal, and one of a user who was refused before.
func BenchmarkRefused(b *testing.B) {
	clock := func(int64) (time.Time, time.Duration, bool) { return time.Now(), time.Millisecond, true }
	here := address(7)
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		j := NewJournal(1000, clock)
		j.Refused(1, 7, "SOLD_OUT", here)
		for b.Loop() {
			j.Refused(1, 7, "SOLD_OUT", here)
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		j := NewJournal(1<<40, clock)
		for i := 0; b.Loop(); i++ {
			j.Refused(1, int64(i), "SOLD_OUT", address(i))
		}
	})
	b.Run("memory of 100,000 users", func(b *testing.B) {
		before := testkit.Heap()
		j := NewJournal(200_000, clock)
		for i := range 100_000 {
			j.Refused(1, int64(i), "SOLD_OUT", address(i))
		}
		used := testkit.Heap() - before
		for b.Loop() {
			_ = j.users.Load()
		}
		b.ReportMetric(float64(used)/1e6, "MB")
	})
}

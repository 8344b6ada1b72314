package main

import (
	"iter"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"seckill/internal/checker"
)

const (
	chunkSize = 4096 // entries
	maxCodes  = 1000 // different codes; a crowd meets a dozen
	// Latencies are kept from a microsecond to an hour, three digits of each.
	longest = int64(time.Hour / time.Microsecond)
	digits  = 3
)

// entry is one answer, in as few bytes as a million buyers allow.
type entry struct {
	order      int64
	sent, told time.Duration // since the record began
	buyer      uint32
	code       uint16
	verdict    checker.Verdict
}

// second is what happened within one second.
type second struct {
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
	Unclear  int `json:"unclear"` // unknown, or to be asked again
}

// outcome is what answers are counted by.
type outcome struct {
	verdict checker.Verdict
	code    uint16
}

// record is every answer that the crowd was given, in the order in which they came.
type record struct {
	began time.Time

	mu       sync.Mutex
	chunks   [][]entry
	count    map[outcome]int
	codes    []string
	codeOf   map[string]uint16
	fromDue  *hdrhistogram.Histogram // microseconds
	fromSent *hdrhistogram.Histogram
	seconds  []second
	sent     int
	answered int
	late     time.Duration // how long the request sent last had been due
}

func newRecord(began time.Time) *record {
	return &record{
		began: began, count: map[outcome]int{}, codeOf: map[string]uint16{"": 0}, codes: []string{""},
		fromDue: hdrhistogram.New(1, longest, digits), fromSent: hdrhistogram.New(1, longest, digits),
	}
}

// sending notes that a request goes out that was due a while ago.
func (r *record) sending(at time.Time, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.late = late
	r.second(at).Sent++
}

// second returns the counts of the second of a moment.
func (r *record) second(at time.Time) *second {
	i := max(0, int(at.Sub(r.began)/time.Second))
	for len(r.seconds) <= i {
		r.seconds = append(r.seconds, second{})
	}
	return &r.seconds[i]
}

// add records the answer to a request that was due and sent at the given moments.
func (r *record) add(buyer int, j judgement, due, sent, told time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	code := r.intern(j.code)
	r.append(entry{
		order: j.order, sent: sent.Sub(r.began), told: told.Sub(r.began),
		buyer: uint32(buyer), code: code, verdict: j.verdict, // at most 100,000,000 buyers
	})
	r.answered++
	r.count[outcome{j.verdict, code}]++
	_ = r.fromDue.RecordValue(min(told.Sub(due).Microseconds(), longest)) // fails only above the longest
	_ = r.fromSent.RecordValue(min(told.Sub(sent).Microseconds(), longest))
	switch s := r.second(told); j.verdict {
	case checker.Accepted, checker.Held:
		s.Accepted++
	case checker.Refused:
		s.Refused++
	case checker.Unknown, checker.Later:
		s.Unclear++
	}
}

func (r *record) append(e entry) {
	if n := len(r.chunks); n == 0 || len(r.chunks[n-1]) == chunkSize {
		r.chunks = append(r.chunks, make([]entry, 0, chunkSize))
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, e)
}

// intern returns the number of a code. What a broken network says may be different each time: those share one.
func (r *record) intern(code string) uint16 {
	n, known := r.codeOf[code]
	if known {
		return n
	}
	if len(r.codes) > maxCodes {
		return r.codeOf[r.codes[maxCodes]]
	}
	n = uint16(len(r.codes)) // at most maxCodes
	r.codes, r.codeOf[code] = append(r.codes, code), n
	return n
}

// entries yields the answers. Nobody may add any meanwhile.
func (r *record) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, chunk := range r.chunks {
			for _, e := range chunk {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// answers yields the answers as the checker reads them. Nobody may add any meanwhile.
func (r *record) answers(voucher int64, t *tokens) iter.Seq[checker.Answer] {
	return func(yield func(checker.Answer) bool) {
		for e := range r.entries() {
			a := checker.Answer{
				Verdict: e.verdict, User: t.user(int(e.buyer)), Voucher: voucher, Order: e.order,
				Code: r.codes[e.code], Sent: r.began.Add(e.sent), Told: r.began.Add(e.told),
			}
			if !yield(a) {
				return
			}
		}
	}
}

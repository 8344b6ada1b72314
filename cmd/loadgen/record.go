package main

import (
	"iter"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"seckill/internal/checker"
)

const (
	chunkSize = 4096 // entries in a chunk
	maxCodes  = 1000 // number of different codes; a load has about a dozen
	// Latencies are recorded from a microsecond to an hour, with three significant digits.
	longest = int64(time.Hour / time.Microsecond)
	digits  = 3
)

// entry is one answer, kept small because there may be a million.
type entry struct {
	order          int64
	sent, received time.Duration // since the start of the record
	buyer          uint32
	code           uint16
	outcome        checker.Outcome
}

// second counts what happened within one second.
type second struct {
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	Refused  int `json:"refused"`
	Unclear  int `json:"unclear"` // unknown or retried
}

// countKey is the key by which answers are counted.
type countKey struct {
	outcome checker.Outcome
	code    uint16
}

// record has every answer of the load, in the order in which they came.
type record struct {
	began time.Time

	mu       sync.Mutex
	chunks   [][]entry
	count    map[countKey]int
	codes    []string
	codeOf   map[string]uint16
	fromDue  *hdrhistogram.Histogram // microseconds
	fromSent *hdrhistogram.Histogram
	seconds  []second
	sent     int
	answered int
	accepted int           // buyers who have a unit
	issued   int64         // units of the sale
	soldOut  time.Duration // when the last unit was taken, or the first buyer got none; 0: not yet
	late     time.Duration // how late the last request was sent
}

func newRecord(began time.Time, issued int64) *record {
	return &record{
		began: began, issued: issued, count: map[countKey]int{}, codeOf: map[string]uint16{"": 0}, codes: []string{""},
		fromDue: hdrhistogram.New(1, longest, digits), fromSent: hdrhistogram.New(1, longest, digits),
	}
}

// sending records that a request is being sent, and how late.
func (r *record) sending(at time.Time, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.late = late
	r.second(at).Sent++
}

// second returns the counts of the second that contains the time.
func (r *record) second(at time.Time) *second {
	i := max(0, int(at.Sub(r.began)/time.Second))
	for len(r.seconds) <= i {
		r.seconds = append(r.seconds, second{})
	}
	return &r.seconds[i]
}

// add records the answer to a request.
func (r *record) add(buyer int, res result, due, sent, received time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	code := r.intern(res.code)
	r.append(entry{
		order: res.order, sent: sent.Sub(r.began), received: received.Sub(r.began),
		buyer: uint32(buyer), code: code, outcome: res.outcome, // at most 100,000,000 buyers
	})
	r.answered++
	r.count[countKey{res.outcome, code}]++
	_ = r.fromDue.RecordValue(min(received.Sub(due).Microseconds(), longest)) // fails only above longest
	_ = r.fromSent.RecordValue(min(received.Sub(sent).Microseconds(), longest))
	switch s := r.second(received); res.outcome {
	case checker.Accepted, checker.Held:
		s.Accepted++
		if r.accepted++; int64(r.accepted) == r.issued {
			r.goneAt(received)
		}
	case checker.Refused:
		s.Refused++
		if res.code == "SOLD_OUT" { // a buyer without an answer may have the last unit
			r.goneAt(received)
		}
	case checker.Unknown, checker.Later:
		s.Unclear++
	}
}

// goneAt records when the last unit was taken, at the latest.
func (r *record) goneAt(at time.Time) {
	if r.soldOut == 0 {
		r.soldOut = at.Sub(r.began)
	}
}

func (r *record) append(e entry) {
	if n := len(r.chunks); n == 0 || len(r.chunks[n-1]) == chunkSize {
		r.chunks = append(r.chunks, make([]entry, 0, chunkSize))
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, e)
}

// intern returns the number of a code. Beyond the limit, as with ever new network errors, all codes share one number.
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

// entries yields the answers. Do not add answers while iterating.
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

// answers yields the answers in the checker's form. Do not add answers while iterating.
func (r *record) answers(voucher int64, t *tokens) iter.Seq[checker.Answer] {
	return func(yield func(checker.Answer) bool) {
		for e := range r.entries() {
			a := checker.Answer{
				Outcome: e.outcome, User: t.user(int(e.buyer)), Voucher: voucher, Order: e.order,
				Code: r.codes[e.code], Sent: r.began.Add(e.sent), Received: r.began.Add(e.received),
			}
			if !yield(a) {
				return
			}
		}
	}
}

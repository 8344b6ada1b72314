package order

import (
	"sync"
	"time"
)

const (
	// diaryTime is for how long an accepted order is remembered. Redis loses a second or two with its tail; what is
	// remembered beyond that is for orders that waited in it because the ledger was away.
	diaryTime = time.Minute
	// diarySize is how many are remembered at most: 48 bytes each, 12.6 MB in all, and only once so many are accepted
	// within diaryTime.
	diarySize = 1 << 18
	// diaryStart is how many there is room for at first.
	diaryStart = 1 << 10
)

// Diary is what this instance has accepted lately: which order of whom, and where in the sale. Should Redis lose it before
// the ledger has it, it is known from here (Witness). It is a ring that grows when it has to; writing into it allocates
// nothing else.
type Diary struct {
	start time.Time

	mu    sync.Mutex
	notes []note
	first int // index of the oldest
	n     int
}

// note is one accepted order.
type note struct {
	claim Claim
	at    time.Duration // since the diary's start
}

// NewDiary returns an empty diary.
func NewDiary() *Diary { return &Diary{start: time.Now(), notes: make([]note, diaryStart)} }

// write notes who was accepted in a batch. Of a batch that was sent twice it is not known which call accepted whom; the
// place in the sale stays 0 then.
func (d *Diary) write(b Batch, v Verdict, twice bool) {
	accepted := int64(0)
	for _, o := range v.Outcomes {
		if o.Code == Accepted {
			accepted++
		}
	}
	if accepted == 0 {
		return
	}
	sequence, step := v.View.Mark.Sequence-accepted, int64(1)
	if twice {
		sequence, step = 0, 0
	}
	at := time.Since(d.start)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, o := range v.Outcomes {
		if o.Code != Accepted {
			continue
		}
		sequence += step
		d.add(note{at: at, claim: Claim{
			OrderID: b.Applicants[i].OrderID, UserID: b.Applicants[i].UserID, VoucherID: b.Sale.VoucherID,
			Epoch: v.View.Mark.Epoch, Sequence: sequence,
		}})
	}
}

// add puts a note behind the others. When there is no room, the oldest goes, unless it is young and there may be more.
func (d *Diary) add(n note) {
	if d.n == len(d.notes) {
		if d.n < diarySize && n.at-d.notes[d.first].at < diaryTime {
			grown := make([]note, 2*len(d.notes))
			copy(grown[copy(grown, d.notes[d.first:]):], d.notes[:d.first])
			d.notes, d.first = grown, 0
		} else {
			d.first = (d.first + 1) % len(d.notes)
			d.n--
		}
	}
	d.notes[(d.first+d.n)%len(d.notes)] = n
	d.n++
}

// of returns what is remembered of a sale, oldest first, however old: a process may have stood still.
func (d *Diary) of(voucherID int64) []Claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	var claims []Claim
	for i := range d.n {
		if n := &d.notes[(d.first+i)%len(d.notes)]; n.claim.VoucherID == voucherID {
			claims = append(claims, n.claim)
		}
	}
	return claims
}

package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// lineWait is how long an applicant may expect to wait in line. Callers wait longer than that for an answer, and whoever is
// told at once to come back has lost nothing.
const lineWait = 5 * time.Second

var errLongLine = fmt.Errorf("%w: the line is too long", ErrUnavailable)

// MaxBatch is how many applicants travel in one call of the admission script at most.
const MaxBatch = 256

// line is the queue in front of one sale. Whoever joins an idle line has it served at once; whoever joins while a
// call is under way travels in the next one, together with all that came meanwhile. So there is no timer and no
// minimum batch: a lone applicant waits for nobody, and a crowd shares round trips.
//
// A goroutine serves the line while somebody waits in it and ends when nobody does.
//
// Redis may become slow without failing, and then the line would grow until its end waits longer than buyers do. So whoever
// would wait for longer than lineWait at the pace of the latest calls is sent home at once.
type line struct {
	admit func(ctx context.Context, b Batch) (Verdict, error) // one call of the script
	sale  SaleRef
	limit int64
	tries time.Duration // how long each try may take

	serving *sync.WaitGroup // counts serving goroutines, for a clean stop

	mu      sync.Mutex
	waiting []*ticket
	served  bool          // a goroutine serves the line
	known   Mark          // the highest mark seen, in Redis or in the ledger
	seen    Mark          // the highest that Redis has told of
	pace    time.Duration // what a call takes, with the latest ones counting most; 0 in a line that stood still
	calls   int           // since the line stood still

	last   atomic.Pointer[sighting]
	memory memory
	tally  tally
	diary  *Diary
}

// sighting is what Redis last said of the sale, and when it was asked and heard by the local monotonic clock. Of a
// repeated call it is when the first one was sent.
type sighting struct {
	view  SaleView
	asked time.Time
	heard time.Time
}

// now estimates Redis's clock: what it said plus what has passed here since (rule 12).
func (s *sighting) now() time.Time { return s.view.Now.Add(time.Since(s.heard)) }

// ticket is one applicant's place in the line.
type ticket struct {
	applicant Applicant
	gone      <-chan struct{} // closed once the applicant no longer waits
	answer    chan answer     // holds one
}

type answer struct {
	outcome Outcome
	err     error
}

// join waits in line for the applicant's outcome; recorded is how far the sale has got in the ledger. When ctx ends
// first, the applicant may still be admitted: the error is then ErrUnknownOutcome. It is ErrUnavailable when the line is
// too long.
func (l *line) join(ctx context.Context, a Applicant, recorded Mark) (Outcome, error) {
	t := &ticket{applicant: a, gone: ctx.Done(), answer: make(chan answer, 1)}
	l.mu.Lock()
	if l.known.Before(recorded) {
		l.known = recorded
	}
	if l.outlook() > lineWait {
		l.mu.Unlock()
		l.tally.add(ToldUnavailable, 1)
		return Outcome{}, errLongLine
	}
	l.waiting = append(l.waiting, t)
	if !l.served {
		l.served = true
		l.serving.Add(1)
		go l.serve(context.WithoutCancel(ctx))
	}
	l.mu.Unlock()
	select {
	case got := <-t.answer:
		return got.outcome, got.err
	case <-ctx.Done():
		return Outcome{}, fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
	}
}

// outlook is how long it takes to serve those who wait and one more, if the pace stays as it is. The caller has locked.
func (l *line) outlook() time.Duration { return l.pace * time.Duration(len(l.waiting)/MaxBatch+1) }

// kept adjusts the pace to what a call took: by half of the difference in a line that has just begun, so that a Redis that
// is slow is known as such after a few calls; by an eighth later, so that one that stalls for some calls, while its disk is
// flushed or a crowd connects, sends nobody home.
func (l *line) kept(took time.Duration) {
	const quick, steady = 2, 8
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.pace += (took - l.pace) / time.Duration(min(max(l.calls, quick), steady))
}

// saw remembers how far the sale has got in Redis.
func (l *line) saw(m Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known.Before(m) {
		l.known = m
	}
	if l.seen.Before(m) {
		l.seen = m
	}
}

// serve calls the script until nobody waits.
func (l *line) serve(ctx context.Context) {
	defer l.serving.Done()
	for {
		batch, known := l.take()
		if batch == nil {
			return
		}
		applicants := make([]Applicant, len(batch))
		for i, t := range batch {
			applicants[i] = t.applicant
		}
		asked := time.Now()
		verdict, err := l.call(ctx, Batch{Sale: l.sale, Known: known, MaxBacklog: l.limit, Applicants: applicants})
		l.kept(time.Since(asked))
		if err == nil {
			seen := &sighting{view: verdict.View, asked: asked, heard: time.Now()}
			l.last.Store(seen)
			l.saw(verdict.View.Mark)
			l.memory.saw(ctx, seen)
			l.tally.outcomes(verdict.Outcomes)
		} else {
			l.tally.add(toldBy(err), len(batch))
			l.sendHome(err)
		}
		for i, t := range batch {
			if err != nil {
				t.answer <- answer{err: err}
				continue
			}
			t.answer <- answer{outcome: verdict.Outcomes[i]}
		}
	}
}

// sendHome answers everybody who waits after a call has failed: they would each wait for as long, batch after batch,
// for a Redis that does not answer. They were never sent, so certainly nothing was bought for them.
func (l *line) sendHome(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.add(ToldUnavailable, len(l.waiting))
	for _, t := range l.waiting {
		t.answer <- answer{err: fmt.Errorf("%w: the call before failed: %w", ErrUnavailable, unmarked{cause})}
	}
	l.waiting = nil
}

// take removes the next batch from the line, leaving out those that no longer wait; they were never sent, so nothing
// was bought for them. It returns nil, and ends the serving, when nobody is left.
func (l *line) take() ([]*ticket, Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := make([]*ticket, 0, min(len(l.waiting), MaxBatch))
	taken := 0
	for _, t := range l.waiting {
		if len(batch) == MaxBatch {
			break
		}
		taken++
		select {
		case <-t.gone:
		default:
			batch = append(batch, t)
		}
	}
	if rest := l.waiting[taken:]; len(rest) > 0 {
		l.waiting = rest
	} else {
		l.waiting = nil // lets the memory of a crowd go
	}
	if len(batch) == 0 {
		l.served, l.pace, l.calls = false, 0, 0
		return nil, Mark{}
	}
	return batch, l.known
}

// call asks the script, and once more with the identical batch when the first answer did not arrive: who was admitted
// by the first is told so by the second (rule 3). What is then still unknown is said to be unknown. That goes for a
// refusal too: the first call may be on its way still, and admit him when it arrives.
func (l *line) call(ctx context.Context, b Batch) (Verdict, error) {
	verdict, err := l.try(ctx, b)
	if err == nil {
		l.diary.write(b, verdict, false)
		return verdict, nil
	}
	if errors.Is(err, ErrUnavailable) {
		return verdict, err
	}
	again, errAgain := l.try(ctx, b)
	if errAgain != nil {
		return Verdict{}, fmt.Errorf("%w: %w; repeated: %w", ErrUnknownOutcome, err, unmarked{errAgain})
	}
	l.diary.write(b, again, true)
	doubtRefusals(again.Outcomes)
	return again, nil
}

// try is one call of the script.
func (l *line) try(ctx context.Context, b Batch) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, l.tries)
	defer cancel()
	verdict, err := l.admit(ctx, b)
	if err == nil && len(verdict.Outcomes) != len(b.Applicants) {
		err = fmt.Errorf("%d outcomes for %d applicants", len(verdict.Outcomes), len(b.Applicants))
	}
	return verdict, err
}

// doubtRefusals makes every outcome unknown that a call which arrives late could still change.
func doubtRefusals(outcomes []Outcome) {
	for i := range outcomes {
		switch outcomes[i].Code {
		case Accepted, AlreadyBought, Ended:
		default:
			outcomes[i].Code = Doubtful
		}
	}
}

// unmarked hides what an error wraps: a repetition that certainly had no effect says nothing about the first try.
type unmarked struct{ error }

package journal

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/kit/retry"
)

const (
	writeEvery   = 5 * time.Second
	writeTimeout = 5 * time.Second // of one statement
	writeRows    = 200             // refusals in one statement
	writePause   = 20 * time.Millisecond

	// quiet is how many users at most were refused for the first time since the last look if the rush is over. Refusals
	// are written then, or when the oldest has waited for longest.
	quiet   = 50
	longest = time.Minute

	idle = 10 * time.Minute // after which a sale is forgotten
)

// Store keeps refusals and notes: the ledger. Writing one twice changes nothing.
type Store interface {
	WriteRefusals(ctx context.Context, all []Refusal) error
	WriteNote(ctx context.Context, n Note) error
}

// Writer writes what a Journal remembers once a sale's rush is over.
type Writer struct {
	journal *Journal
	store   Store
	log     *slog.Logger
	last    time.Duration // how long it writes when it is stopped
	failing bool
}

// NewWriter returns a writer; Run writes. When it is stopped, it writes the rest, for as long as last.
func NewWriter(j *Journal, store Store, last time.Duration, log *slog.Logger) *Writer {
	return &Writer{journal: j, store: store, last: last, log: log}
}

// Run writes until ctx ends, and then the rest.
func (w *Writer) Run(ctx context.Context) error {
	defer w.rest(context.WithoutCancel(ctx))
	return periodic.Every(ctx, writeEvery, func(ctx context.Context) { w.look(ctx, time.Now(), false) })
}

// rest writes all that is left.
func (w *Writer) rest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.last)
	defer cancel()
	w.look(ctx, time.Now(), true)
	lost := int64(0)
	for _, s := range w.journal.all() {
		lost += s.users.Load() - s.written.Load()
	}
	if lost > 0 {
		w.log.WarnContext(ctx, "refusals could not be written before the end", "users", lost)
	}
}

// look writes what is due. After a failure it leaves the rest for the next look.
func (w *Writer) look(ctx context.Context, now time.Time, all bool) {
	var failed error
	for _, s := range w.journal.all() {
		// First the note: it says what is lost if this process is killed.
		if failed = w.note(ctx, s, now); failed != nil {
			break
		}
		if s.due(now) || all {
			if failed = w.refusals(ctx, s, all); failed == nil {
				failed = w.note(ctx, s, now)
			}
		}
		if failed != nil {
			break
		}
		if !all && now.Sub(s.changed) > idle {
			s.release()
		}
	}
	if failed != nil && !w.failing && ctx.Err() == nil {
		w.log.WarnContext(ctx, "refusals cannot be written; retrying every five seconds", "error", failed)
	}
	w.failing = failed != nil
}

// due reports whether the sale's refusals are to be written.
func (s *sale) due(now time.Time) bool {
	users := s.users.Load()
	fresh := users - s.seen
	s.seen = users
	switch {
	case users == s.written.Load():
		s.waiting = time.Time{}
		return false
	case s.waiting.IsZero():
		s.waiting = now
	}
	return fresh <= quiet || now.Sub(s.waiting) >= longest
}

// note writes the sale's note if it has changed.
func (w *Writer) note(ctx context.Context, s *sale, now time.Time) error {
	n := s.state()
	if s.changed.IsZero() {
		s.changed = now
	} else if n.equal(&s.reported) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := w.store.WriteNote(ctx, n); err != nil {
		return err
	}
	s.reported, s.changed = n, now
	return nil
}

// refusals writes a sale's refusals, with pauses unless it is in a hurry.
func (w *Writer) refusals(ctx context.Context, s *sale, hurry bool) error {
	for {
		part := s.take(writeRows)
		if len(part) == 0 {
			s.waiting = time.Time{}
			return nil
		}
		call, cancel := context.WithTimeout(ctx, writeTimeout)
		err := w.store.WriteRefusals(call, part)
		cancel()
		if err != nil {
			s.putBack(part)
			return err
		}
		s.written.Add(int64(len(part)))
		if !hurry {
			retry.Sleep(ctx, writePause)
		}
	}
}

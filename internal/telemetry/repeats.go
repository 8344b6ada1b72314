package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// repeatEvery is how often a repeated warning is logged.
	repeatEvery = time.Minute
	// maxRepeats is how many different warnings are remembered. Usually there are far fewer. If an error's text has
	// endless variants, some repeats are logged.
	maxRepeats = 500
)

// repeats is a handler that drops a warning about an error if the same warning was logged within the last minute: while
// a store hangs, a dozen jobs fail every second or so, and hundreds of equal lines would hide a different one. The
// first warning after that minute says how many were dropped. Lines about requests are all logged: they are all
// different, and have a limit of their own.
type repeats struct {
	next slog.Handler
	with string // the text of the attributes from WithAttrs
	seen *seen
}

// seen remembers the warnings logged lately.
type seen struct {
	mu   sync.Mutex
	last map[string]*repeat
}

type repeat struct {
	at      time.Time // when it was last logged
	leftOut int       // how often it was dropped since then
}

func withoutRepeats(next slog.Handler) slog.Handler {
	return repeats{next: next, seen: &seen{last: make(map[string]*repeat)}}
}

// Enabled implements slog.Handler.
func (h repeats) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next = h.next.WithAttrs(attrs)
	for _, a := range attrs {
		h.with += a.String() + " "
	}
	return h
}

// WithGroup implements slog.Handler.
func (h repeats) WithGroup(name string) slog.Handler {
	h.next = h.next.WithGroup(name)
	h.with += name + "."
	return h
}

// Handle implements slog.Handler.
func (h repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	says, repeatable := h.with+r.Message, false
	r.Attrs(func(a slog.Attr) bool {
		says += " " + a.String()
		if a.Key == "request_id" {
			repeatable = false
			return false
		}
		repeatable = repeatable || a.Key == "error"
		return true
	})
	if !repeatable {
		return h.next.Handle(ctx, r)
	}
	leftOut, again := h.seen.look(withoutDigits(says), r.Time)
	if again {
		return nil
	}
	if leftOut > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", leftOut))
	}
	return h.next.Handle(ctx, r)
}

// withoutDigits returns a text without its digits. Warnings that differ only in numbers, such as durations or ports,
// are repeats.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}

// look reports whether a line was logged within the minute before now. If not, it returns how many were dropped since
// the last one, and counts the line as logged now.
func (s *seen) look(says string, now time.Time) (leftOut int, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[says]
	switch {
	case last == nil && len(s.last) >= maxRepeats:
		clear(s.last)
		fallthrough
	case last == nil:
		s.last[says] = &repeat{at: now}
		return 0, false
	case now.Sub(last.at) < repeatEvery:
		last.leftOut++
		return 0, true
	}
	leftOut, *last = last.leftOut, repeat{at: now}
	return leftOut, false
}

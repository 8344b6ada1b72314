package listing

import (
	"slices"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// Content is a part of a shop's list, or a single voucher, as shown. It is immutable.
type Content struct {
	Vouchers []voucher.Shown // newest first
	Total    int64           // vouchers of the shop that are on the shelf
	More     bool            // older ones follow

	once     sync.Once
	rendered any
}

// Rendered returns render's result for the content, computed once: the rendering lives as long as the content. All
// callers must pass the same function.
func (c *Content) Rendered(render func(*Content) any) any {
	c.once.Do(func() { c.rendered = render(c) })
	return c.rendered
}

// Snapshot is content with its age.
type Snapshot struct {
	*Content
	Now   time.Time     // by Redis's clock as far as that is known
	Stale bool          // it could not be renewed when it was due
	Age   time.Duration // how long ago the oldest part of it was read; meaningful if Stale
	// NumbersAge is how long ago stock and states were read: at most Age.
	NumbersAge time.Duration
}

// texts are vouchers as read from the ledger.
type texts struct {
	vouchers []voucher.Voucher
	total    int64
	more     bool
	shop     int64
	version  string    // of the shop's list, read before the texts; or unknownVersion
	readAt   time.Time // taken before the texts were read
}

// state is the texts and figures that an entry has read so far. It is immutable.
type state struct {
	content *Content
	texts   *texts
	live    []voucher.Live // of the texts' selling vouchers; nil: Redis has never been read for them
	liveAt  time.Time      // taken before live was read
	version string         // of the shop's list, when last read
	// changedAt is when version was first seen to differ from the texts' version; zero while they are equal.
	changedAt time.Time
}

// newState joins texts with Redis's answer, read at the time at. It keeps the content, with its rendering, if the
// figures have not changed.
func newState(before *state, t *texts, r Reading, at time.Time) *state {
	s := &state{texts: t, live: r.Live, liveAt: at, version: r.Versions[0]}
	sameTexts := before != nil && before.texts == t
	if s.version != t.version {
		s.changedAt = at
		if sameTexts && !before.changedAt.IsZero() {
			s.changedAt = before.changedAt
		}
	}
	if sameTexts && before.live != nil && slices.Equal(before.live, r.Live) {
		s.content = before.content
	} else {
		s.content = t.content(r.Live)
	}
	return s
}

// withoutFigures returns texts for which Redis did not answer, with the last known figures.
func withoutFigures(before *state, t *texts) *state {
	s := &state{texts: t, version: t.version}
	if before == nil {
		s.content = t.content(nil)
		return s
	}
	last := make(map[int64]voucher.Live, len(before.content.Vouchers))
	for _, v := range before.content.Vouchers {
		if v.Live != nil {
			last[v.ID] = *v.Live
		}
	}
	live := make([]voucher.Live, 0, len(t.vouchers))
	for _, v := range voucher.Selling(t.vouchers) {
		l, had := last[v.ID]
		if !had {
			l = voucher.Live{State: voucher.StatePreparing}
		}
		live = append(live, l)
	}
	s.liveAt, s.content = before.liveAt, t.content(live)
	return s
}

// content joins the texts with live state; nil if that is unknown.
func (t *texts) content(live []voucher.Live) *Content {
	return &Content{Vouchers: voucher.Show(t.vouchers, live), Total: t.total, More: t.more}
}

// due returns since when the texts should have been read again, for the first reason that there was; zero if they are
// not due. changed is when this instance last changed a voucher of the shop.
func (s *state) due(now, changed time.Time) (since time.Time) {
	because := func(at time.Time) {
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	if changed.After(s.texts.readAt) {
		because(changed)
	}
	if !s.changedAt.IsZero() {
		because(s.changedAt)
	}
	if now.Sub(s.texts.readAt) >= textsTTL { // also if nobody has asked since, and the change is noticed only now
		because(s.texts.readAt.Add(textsTTL))
	}
	return since
}

// snapshot returns the state for display at the time now.
func (s *state) snapshot(now, changed time.Time, clock *clock) Snapshot {
	numbers := now.Sub(s.liveAt)
	if s.liveAt.IsZero() { // no figures yet: as old as the texts
		numbers = now.Sub(s.texts.readAt)
	}
	shown := Snapshot{Content: s.content, Now: clock.at(now), Age: numbers, NumbersAge: numbers}
	shown.Stale = s.live == nil || shown.Age > staleAfter
	if since := s.due(now, changed); !since.IsZero() && now.Sub(since) > staleAfter {
		shown.Stale, shown.Age = true, max(numbers, now.Sub(s.texts.readAt))
	}
	return shown
}

// clock is one reading of Redis's clock; a nil clock stands for none.
type clock struct {
	redis time.Time
	read  time.Time
}

func (c *clock) at(now time.Time) time.Time {
	if c == nil {
		return now
	}
	return c.redis.Add(now.Sub(c.read))
}

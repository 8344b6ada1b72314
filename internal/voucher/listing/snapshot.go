package listing

import (
	"slices"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// Content is what is shown: a part of a shop's list, or a single voucher. Nobody changes it.
type Content struct {
	Vouchers []voucher.Shown // newest first
	Total    int64           // vouchers of the shop that are on the shelf
	More     bool            // older ones follow

	once     sync.Once
	rendered any
}

// Rendered returns what render makes of the content, made once: a rendering lives as long as what it was made of. All
// callers pass the same function.
func (c *Content) Rendered(render func(*Content) any) any {
	c.once.Do(func() { c.rendered = render(c) })
	return c.rendered
}

// Snapshot is content with its age.
type Snapshot struct {
	*Content
	Now   time.Time     // by Redis's clock, as far as it is known
	Stale bool          // it could not be renewed when it was due
	Age   time.Duration // how long ago the oldest of what is shown was read; of use when it is stale
}

// texts are vouchers as the ledger had them.
type texts struct {
	vouchers []voucher.Voucher
	total    int64
	more     bool
	shop     int64
	version  string    // of the shop's list, read before them; unknownVersion
	readAt   time.Time // before they were read
}

// state is what an entry knows at one moment. Nobody changes it.
type state struct {
	content *Content
	texts   *texts
	live    []voucher.Live // of the texts' selling vouchers; nil: Redis has never been read for them
	liveAt  time.Time      // before live was read
	version string         // of the shop's list, as it was read last
	// changedAt is when version was first seen to differ from the texts'; zero while it does not.
	changedAt time.Time
}

// newState composes texts and what Redis answered at the time at. Content whose figures have not changed is kept,
// with its rendering.
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

// withoutFigures is texts for which Redis did not answer: with the last figures of those that had some.
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

// content is the texts with live state; nil when it is not known.
func (t *texts) content(live []voucher.Live) *Content {
	return &Content{Vouchers: voucher.Show(t.vouchers, live), Total: t.total, More: t.more}
}

// due returns since when the texts have to be read again; the zero time when they have not. changed is when this
// instance last changed a voucher of the shop.
func (s *state) due(now, changed time.Time) time.Time {
	switch {
	case changed.After(s.texts.readAt):
		return changed
	case !s.changedAt.IsZero():
		return s.changedAt
	case now.Sub(s.texts.readAt) >= textsTTL:
		return s.texts.readAt.Add(textsTTL)
	default:
		return time.Time{}
	}
}

// snapshot is the state as it is shown at the time now.
func (s *state) snapshot(now, changed time.Time, clock *clock) Snapshot {
	shown := Snapshot{Content: s.content, Now: clock.at(now), Age: now.Sub(s.liveAt)}
	if s.liveAt.IsZero() { // no figures yet: as old as the texts
		shown.Age = now.Sub(s.texts.readAt)
	}
	shown.Stale = s.live == nil || shown.Age > staleAfter
	if since := s.due(now, changed); !since.IsZero() && now.Sub(since) > staleAfter {
		shown.Stale, shown.Age = true, now.Sub(s.texts.readAt)
	}
	return shown
}

// clock is Redis's clock as it was read once; nil: never.
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

package webhook

import (
	"testing"
	"time"
)

// What was read before others have read it anew is forgotten: a transaction that has begun meanwhile relies on
// theirs. After the clock was set back, what is read counts again.
func TestOlderKnowledgeOfEndpointsIsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	c := subscribedShops{now: func() time.Time { return now }}
	c.learn([]int64{1}, now, 0)
	c.learn(nil, now.Add(-time.Millisecond), 0)
	if !c.known()[1] {
		t.Error("the shop is forgotten by one who has read before")
	}
	now = now.Add(-time.Hour)
	c.learn([]int64{2}, now, 0)
	if got := c.known(); got[1] || !got[2] {
		t.Errorf("after the clock was set back: %v", got)
	}
}

// What was read while an endpoint was made must be read again.
func TestEndpointsMadeWhileRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	c := subscribedShops{now: func() time.Time { return now }}
	c.forget()
	c.learn([]int64{1}, now, 0)
	if !c.from.IsZero() || !c.known()[1] {
		t.Errorf("read again at %v, known are %v", c.from, c.known())
	}
	c.learn([]int64{1, 2}, now, 1)
	if c.from.IsZero() || !c.known()[2] {
		t.Errorf("read again at %v, known are %v", c.from, c.known())
	}
}

// One reads while the others go on with what is known, for a second.
func TestOneReadsEndpoints(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	c := subscribedShops{now: func() time.Time { return now }}
	c.learn([]int64{1}, now, 0)
	c.reading.Lock() // somebody reads
	for _, age := range []time.Duration{0, subscribedFor / 2, subscribedFor - 1} {
		now = c.from.Add(age)
		if err := c.refresh(nil); err != nil { // it would panic without a database
			t.Errorf("after %v: %v", age, err)
		}
	}
	now = c.from.Add(subscribedFor)
	defer func() {
		if recover() == nil {
			t.Error("after a second it is not read")
		}
	}()
	_ = c.refresh(nil) // it panics
}

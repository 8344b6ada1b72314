package testkit

import (
	"path/filepath"
	"testing"
	"time"

	"seckill/internal/testkit/server"
)

// Clock is the wall clock of one process, which a test sets.
type Clock struct {
	*server.Clock
	tb testing.TB
}

// NewClock returns a clock that is right.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	c, err := server.NewClock(filepath.Join(tb.TempDir(), "clock"))
	if err != nil {
		tb.Fatalf("testkit: make a clock: %v", err)
	}
	return &Clock{c, tb}
}

// Set makes the clock wrong by the offset: below 0 it is behind.
func (c *Clock) Set(offset time.Duration) {
	c.tb.Helper()
	if err := c.Clock.Set(offset); err != nil {
		c.tb.Fatalf("testkit: set a clock: %v", err)
	}
}

package testkit

import (
	"path/filepath"
	"testing"
	"time"

	"seckill/internal/testkit/server"
)

// Clock is a wall clock for one process, set by the test.
type Clock struct {
	*server.Clock
	tb testing.TB
}

// NewClock returns a correct clock.
func NewClock(tb testing.TB) *Clock {
	tb.Helper()
	c, err := server.NewClock(filepath.Join(tb.TempDir(), "clock"))
	if err != nil {
		tb.Fatalf("testkit: make a clock: %v", err)
	}
	return &Clock{c, tb}
}

// Set makes the clock deviate by the offset; a negative one puts it behind.
func (c *Clock) Set(offset time.Duration) {
	c.tb.Helper()
	if err := c.Clock.Set(offset); err != nil {
		c.tb.Fatalf("testkit: set a clock: %v", err)
	}
}

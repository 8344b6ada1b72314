package rediskit

import (
	"cmp"
	"testing"
	"time"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newClients returns clients that are closed when the test ends.
func newClients(tb testing.TB, c Config) *Clients {
	tb.Helper()
	clients, err := NewClients(limited(c))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := clients.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return clients
}

// limited returns the configuration with limits that most tests do not reach.
func limited(c Config) Config {
	c.PoolSize, c.Readers, c.Timeout = cmp.Or(c.PoolSize, 64), cmp.Or(c.Readers, 16), cmp.Or(c.Timeout, 10*time.Second)
	return c
}

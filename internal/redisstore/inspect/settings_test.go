package inspect_test

import (
	"cmp"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"seckill/internal/redisstore"
	"seckill/internal/redisstore/inspect"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	const (
		eviction = "set maxmemory-policy to noeviction"
		noFile   = "keeps no append-only file"
		noFlush  = "never flushes"
	)
	for name, c := range map[string]struct {
		settings []string
		want     []string
	}{
		"durable":      {[]string{"--appendonly", "yes", "--appendfsync", "always"}, nil},
		"every second": {[]string{"--appendonly", "yes", "--appendfsync", "everysec"}, nil},
		"never":        {[]string{"--appendonly", "yes", "--appendfsync", "no"}, []string{noFlush}},
		"no file":      {nil, []string{noFile}},
		"everything": {
			[]string{"--maxmemory-policy", "allkeys-lru", "--appendfsync", "no"}, []string{eviction, noFile, noFlush},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := configLog(t, testkit.StartRedis(t, c.settings...).Addr)
			if n := strings.Count(log, "level=WARN"); n != len(c.want) {
				t.Errorf("%d warnings, want %d:\n%s", n, len(c.want), log)
			}
			for _, want := range c.want {
				if !strings.Contains(log, want) {
					t.Errorf("no warning %q in\n%s", want, log)
				}
			}
		})
	}
	t.Run("hidden settings", func(t *testing.T) {
		t.Parallel()
		log := configLog(t, miniredis.RunT(t).Addr())
		if strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "does not show") ||
			!strings.Contains(log, "a restart or a failover of Redis would not be noticed") {
			t.Errorf("hidden settings are logged as:\n%s", log)
		}
	})
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		mini := miniredis.RunT(t)
		servers := serversOf(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{mini.Addr()}},
			slog.New(slog.DiscardHandler))
		mini.Close()
		if err := servers.CheckConfig(t.Context()); err == nil {
			t.Error("the check succeeds while Redis is away")
		}
	})
}

// configLog checks the server's settings and returns the log of that.
func configLog(t *testing.T, addr string) string {
	t.Helper()
	var log strings.Builder
	servers := serversOf(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{addr}},
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err := servers.CheckConfig(t.Context()); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

// serversOf returns the servers that clients with this configuration know.
func serversOf(t *testing.T, c rediskit.Config, log *slog.Logger) *inspect.Servers {
	t.Helper()
	c.PoolSize, c.Readers, c.Timeout = 64, 16, cmp.Or(c.Timeout, 10*time.Second)
	clients, err := rediskit.NewClients(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(); err != nil {
			t.Error(err)
		}
	})
	store, err := redisstore.New(clients, redisstore.Options{Word: "1/ledger"}, log)
	if err != nil {
		t.Fatal(err)
	}
	return inspect.New(clients.Commands, store, false, log)
}

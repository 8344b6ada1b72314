package rediskit

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNewClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		kind   string // of the client; "" for an error
	}{
		"single": {Config{Topology: Single, Addrs: []string{"a:1"}}, "*redis.Client"},
		"sentinel": {
			Config{Topology: Sentinel, Addrs: []string{"a:1", "b:1"}, MasterName: "m"}, "*redis.Client",
		},
		"cluster": {
			Config{Topology: Cluster, Addrs: []string{"a:1", "b:1"}}, "*redis.ClusterClient",
		},
		"cluster, one address":    {Config{Topology: Cluster, Addrs: []string{"a:1"}}, "*redis.ClusterClient"},
		"no address":              {Config{Topology: Single}, ""},
		"single, two addresses":   {Config{Topology: Single, Addrs: []string{"a:1", "b:1"}}, ""},
		"sentinel without master": {Config{Topology: Sentinel, Addrs: []string{"a:1"}}, ""},
		"cluster with a database": {Config{Topology: Cluster, Addrs: []string{"a:1"}, DB: 1}, ""},
		"unknown":                 {Config{Topology: "ring", Addrs: []string{"a:1"}}, ""},
		"no connections":          {Config{Topology: Single, Addrs: []string{"a:1"}, PoolSize: -1}, ""},
		"fewer than classes":      {Config{Topology: Single, Addrs: []string{"a:1"}, PoolSize: 5}, ""},
		"no readers":              {Config{Topology: Single, Addrs: []string{"a:1"}, Readers: -1}, ""},
		"no timeout":              {Config{Topology: Single, Addrs: []string{"a:1"}, Timeout: -1}, ""},
		"a master, but no sentinel": {
			Config{Topology: Single, Addrs: []string{"a:1"}, MasterName: "m"}, "*redis.Client",
		},
	} {
		clients, err := NewClients(limited(c.config))
		if (err == nil) != (c.kind != "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if kind := fmt.Sprintf("%T", clients.Commands); kind != c.kind {
			t.Errorf("%s: %s, want %s", name, kind, c.kind)
		}
		if err := clients.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClientLog(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var out strings.Builder
		l := ClientLog{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))}
		l.Printf(t.Context(), "failed to dial after %d attempts", 1)
		if got := strings.Contains(out.String(), "failed to dial after 1 attempts"); got != want {
			t.Errorf("at level %v: %q", level, out.String())
		}
	}
}

package rig

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/lab/bench/result"
)

// Describe says where figures are measured, and on what. Facts that it cannot find are left out.
func (s *Stores) Describe(ctx context.Context) result.Machine {
	m := result.Machine{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: commit(ctx), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Processor: processor(),
		Durability: map[string]string{},
	}
	m.Redis, _ = StoreName(ctx, s.Redis)
	for _, name := range []string{"appendonly", "appendfsync"} {
		if got, err := s.Redis.ConfigGet(ctx, name).Result(); err == nil {
			m.Durability["redis "+name] = got[name]
		}
	}
	_ = s.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&m.Database) // left out of the report
	for _, name := range []string{"innodb_flush_log_at_trx_commit", "log_bin", "innodb_buffer_pool_size"} {
		var value string
		if s.db.QueryRowContext(ctx, "SELECT @@"+name).Scan(&value) == nil {
			m.Durability["database "+name] = value
		}
	}
	return m
}

// StoreName returns the name and the version of a Redis, or of what says that it is another server: "Valkey 9.1.2",
// though that one says "redis_version:7.2.4" too.
func StoreName(ctx context.Context, rdb redis.UniversalClient) (string, error) {
	info, err := rdb.Info(ctx, "server").Result()
	said := func(name string) string {
		_, rest, _ := strings.Cut(info, "\n"+name+":")
		value, _, _ := strings.Cut(rest, "\r")
		return value
	}
	if said("server_name") == "valkey" {
		return "Valkey " + said("valkey_version"), err
	}
	return "Redis " + said("redis_version"), err
}

// commit returns the checkout's commit, with "-dirty" if it has changes.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// processor returns the processor's name if the system shows it.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	_, rest, found := strings.Cut(string(info), "model name\t: ")
	if !found {
		return "unknown"
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

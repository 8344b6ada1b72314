package rig

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"seckill/lab/bench/result"
)

// Describe says where figures are measured, and on what. Facts that it cannot find are left out.
func (s *Stores) Describe(ctx context.Context) result.Machine {
	m := result.Machine{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: commit(ctx), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Processor: processor(),
		Durability: map[string]string{},
	}
	if info, err := s.Redis.Info(ctx, "server").Result(); err == nil {
		_, rest, _ := strings.Cut(info, "redis_version:")
		m.Redis, _, _ = strings.Cut(rest, "\r\n")
	}
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

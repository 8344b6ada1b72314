package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/testkit/child"
)

// ProcessorTime is how long each process has kept processors busy. Unlike a rate it hardly depends on other load on the
// machine, and it shows which process limits the rate.
type ProcessorTime struct{ LoadGenerator, Server, Redis, Database time.Duration }

// Processes are the ids of the processes whose time is read; a process on another machine has id 0 and no time.
type Processes struct {
	servers         []int
	redis, database int
}

// Processes finds the stores and the servers, whose times are added up. A nil server is left out.
func (s *Stores) Processes(ctx context.Context, servers ...*Server) Processes {
	var p Processes
	for _, server := range servers {
		if server != nil {
			p.servers = append(p.servers, server.PID())
		}
	}
	if info, err := s.Redis.Info(ctx, "server").Result(); err == nil {
		_, rest, _ := strings.Cut(info, "\nprocess_id:")
		text, _, _ := strings.Cut(rest, "\r")
		p.redis = local(text, "redis")
	}
	var dir, file string
	if s.db.QueryRowContext(ctx, "SELECT @@datadir, @@pid_file").Scan(&dir, &file) == nil {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if text, err := os.ReadFile(file); err == nil {
			p.database = local(string(bytes.TrimSpace(text)), "m") // mysqld, mariadbd
		}
	}
	return p
}

// Known returns an error when the processor time of the stores or of a server cannot be read: they run elsewhere, or
// this is not Linux.
func (p Processes) Known() error {
	for _, pid := range append([]int{p.redis, p.database}, p.servers...) {
		if child.TimeOf(pid) == 0 {
			return errors.New("the processor time of Redis, the database or a server is not known here")
		}
	}
	return nil
}

// local returns the process id if this machine has such a process, whose name begins with name; otherwise 0.
func local(pid, name string) int {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return 0
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n))
	if err != nil || !strings.HasPrefix(string(comm), name) {
		return 0
	}
	return n
}

// Time reads the processor time of the processes and of this one, the load generator.
func (p Processes) Time() ProcessorTime {
	t := ProcessorTime{LoadGenerator: ownTime(), Redis: child.TimeOf(p.redis), Database: child.TimeOf(p.database)}
	for _, server := range p.servers {
		t.Server += child.TimeOf(server)
	}
	return t
}

// Since returns the time since an earlier reading.
func (p Processes) Since(before ProcessorTime) ProcessorTime {
	now := p.Time()
	return ProcessorTime{
		LoadGenerator: now.LoadGenerator - before.LoadGenerator, Server: now.Server - before.Server,
		Redis: now.Redis - before.Redis, Database: now.Database - before.Database,
	}
}

func ownTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

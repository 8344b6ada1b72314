package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// busy is how long each party of a turn has kept processors busy. Unlike a rate it hardly depends on what else the
// machine does, and says who is in the way of more.
type busy struct{ client, contestant, redis, database time.Duration }

// perAnswer is what an answer costs each party, in microseconds of processor time.
type perAnswer struct {
	Client     float64 `json:"loadGenerator,omitempty"`
	Contestant float64 `json:"contestant,omitempty"`
	Redis      float64 `json:"redis,omitempty"`
	Database   float64 `json:"database,omitempty"`
}

func (p perAnswer) sum() float64 { return p.Client + p.Contestant + p.Redis + p.Database }

// processes are a turn's parties. Those on other machines count as 0.
type processes struct{ contestant, redis, database int } // process ids; 0: not to be seen

// processes finds the processes: the contestant, nil if there is none, and those of the stores.
func (s *stores) processes(ctx context.Context, contestant *child) processes {
	var m processes
	if contestant != nil {
		m.contestant = contestant.cmd.Process.Pid
	}
	if info, err := s.rdb.Info(ctx, "server").Result(); err == nil {
		_, rest, _ := strings.Cut(info, "\nprocess_id:")
		text, _, _ := strings.Cut(rest, "\r")
		m.redis = local(text, "redis")
	}
	var dir, file string
	if s.db.QueryRowContext(ctx, "SELECT @@datadir, @@pid_file").Scan(&dir, &file) == nil {
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if text, err := os.ReadFile(file); err == nil {
			m.database = local(string(bytes.TrimSpace(text)), "m") // mysqld, mariadbd
		}
	}
	return m
}

// local returns a process id if this machine has such a process, whose name begins so; else 0.
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

func (m processes) read() busy {
	return busy{client: processorTime(), contestant: processTime(m.contestant), redis: processTime(m.redis), database: processTime(m.database)}
}

// since is what each of so many answers has cost since a reading.
func (m processes) since(before busy, answers int64) perAnswer {
	now := m.read()
	each := func(now, before time.Duration) float64 {
		if answers == 0 {
			return 0
		}
		return float64((now - before).Nanoseconds()) / 1000 / float64(answers)
	}
	return perAnswer{
		Client: each(now.client, before.client), Contestant: each(now.contestant, before.contestant),
		Redis: each(now.redis, before.redis), Database: each(now.database, before.database),
	}
}

// processTime is how long a process has kept processors busy, as Linux tells in /proc; elsewhere, and for one that is
// gone, 0.
func processTime(pid int) time.Duration {
	const tick = 10 * time.Millisecond // USER_HZ is 100 wherever Go runs on Linux
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in brackets, may hold anything; behind it, user and system time are the 12th and the 13th field (proc(5)).
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	if errUser != nil || errSystem != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// many is how many holds, readers or waiters exist at once, and names how many names are used once.
const (
	many  = 10_000
	names = 100_000
)

// costs returns what many holds, waiters and names cost, one line each.
func costs(ctx context.Context, addr string, wait time.Duration) ([]string, error) {
	admin := client(addr)
	defer func() { _ = admin.Close() }() // nothing is under way
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, PoolSize: 32, PoolTimeout: time.Minute,
	})
	defer func() { _ = c.Close() }() // nothing is under way
	m := &meter{admin: admin}
	var lines []string
	for _, step := range []func(context.Context, *meter, redis.UniversalClient) ([]string, error){
		manyHolds, manyWaiters,
	} {
		got, err := step(ctx, m, c)
		if err != nil {
			return nil, err
		}
		lines = append(lines, got...)
	}
	got, err := manyNames(ctx, m, c, wait)
	return append(lines, got...), err
}

// meter measures what scripts cost Redis.
type meter struct{ admin *redis.Client }

// begin resets the measurement.
func (m *meter) begin(ctx context.Context) error {
	return errors.Join(
		m.admin.ConfigSet(ctx, "slowlog-log-slower-than", "200").Err(),
		m.admin.ConfigSet(ctx, "slowlog-max-len", "100000").Err(),
		m.admin.Do(ctx, "SLOWLOG", "RESET").Err(),
		m.admin.ConfigResetStat(ctx).Err(),
	)
}

// end returns the longest script, how many took a millisecond or more, and how many there were.
func (m *meter) end(ctx context.Context) (longest time.Duration, slow, scripts int64, err error) {
	logs, err := m.admin.SlowLogGet(ctx, 100_000).Result()
	if err != nil {
		return 0, 0, 0, err
	}
	for _, l := range logs {
		if strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") {
			longest = max(longest, l.Duration)
			if l.Duration >= time.Millisecond {
				slow++
			}
		}
	}
	stats, err := m.admin.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return 0, 0, 0, err
	}
	for _, name := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		calls, _, _ := strings.Cut(strings.TrimPrefix(stats["Commandstats"][name], "calls="), ",")
		if n, err := strconv.ParseInt(calls, 10, 64); err == nil {
			scripts += n
		}
	}
	return longest, slow, scripts, nil
}

// line is one row of the table.
func (m *meter) line(ctx context.Context, what string, errs int64) (string, error) {
	longest, slow, scripts, err := m.end(ctx)
	return fmt.Sprintf("| %s | %d | %d | %v | %d |", what, scripts, errs, longest, slow), err
}

// each calls do for all numbers below n, 32 at a time, and returns how often it failed.
func each(n int, do func(i int) error) int64 {
	var failed, next atomic.Int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if do(int(i)) != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return failed.Load()
}

// manyHolds takes, refuses, shows and releases many holds of one owner, and the same for many readers.
func manyHolds(ctx context.Context, m *meter, c redis.UniversalClient) (lines []string, err error) {
	locker, err := lock.New(c, "cost:")
	if err != nil {
		return nil, err
	}
	one := lock.NewOwner()
	for _, tc := range []struct {
		name    string
		open    func() *lock.Lock
		refused *lock.Lock
	}{
		{
			"holds of one owner", func() *lock.Lock { return locker.Reentrant("m", one) },
			locker.Reentrant("m", lock.NewOwner()),
		},
		{"readers", func() *lock.Lock { return locker.Read("m", lock.NewOwner()) }, locker.Write("m", lock.NewOwner())},
	} {
		holds := make([]*lock.Hold, many)
		for _, step := range []struct {
			what string
			do   func() int64
		}{
			{"taken", func() int64 {
				return each(many, func(i int) (err error) { holds[i], err = tc.open().TryLock(ctx); return err })
			}},
			{"renewed for 12 s", func() int64 { time.Sleep(12 * time.Second); return 0 }},
			{"another one refused, 1,000 times", func() int64 {
				return each(1000, func(int) error {
					if _, err := tc.refused.TryLock(ctx); !errors.Is(err, lock.ErrNotObtained) {
						return fmt.Errorf("refusal: %w", err)
					}
					return nil
				})
			}},
			{
				"State", func() int64 {
					_, err := tc.open().State(ctx)
					return min(1, int64(len(fmt.Sprint(err))-len("<nil>")))
				},
			},
			{"released", func() int64 { return each(many, func(i int) error { return holds[i].Release(ctx) }) }},
		} {
			if err := m.begin(ctx); err != nil {
				return nil, err
			}
			failed := step.do()
			line, err := m.line(ctx, fmt.Sprintf("%d %s, %s", many, tc.name, step.what), failed)
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// manyWaiters lets many callers in one process wait for each kind of lock, and then get it.
func manyWaiters(ctx context.Context, m *meter, c redis.UniversalClient) (lines []string, err error) {
	const idle = 5 * time.Second
	holder, err := lock.New(c, "wait:")
	locker, again := lock.New(c, "wait:")
	if err = errors.Join(err, again); err != nil {
		return nil, err
	}
	for _, tc := range []struct {
		name         string
		held, wanted func(l *lock.Locker) *lock.Lock
	}{
		{
			"Mutex", func(l *lock.Locker) *lock.Lock { return l.Mutex("m") },
			func(l *lock.Locker) *lock.Lock { return l.Mutex("m") },
		},
		{
			"Reentrant", func(l *lock.Locker) *lock.Lock { return l.Reentrant("m", lock.NewOwner()) },
			func(l *lock.Locker) *lock.Lock { return l.Reentrant("m", lock.NewOwner()) },
		},
		{
			"Fair", func(l *lock.Locker) *lock.Lock { return l.Fair("m", lock.NewOwner()) },
			func(l *lock.Locker) *lock.Lock { return l.Fair("m", lock.NewOwner()) },
		},
		{
			"Write", func(l *lock.Locker) *lock.Lock { return l.Read("m", lock.NewOwner()) },
			func(l *lock.Locker) *lock.Lock { return l.Write("m", lock.NewOwner()) },
		},
		{
			"Read", func(l *lock.Locker) *lock.Lock { return l.Write("m", lock.NewOwner()) },
			func(l *lock.Locker) *lock.Lock { return l.Read("m", lock.NewOwner()) },
		},
	} {
		h, err := tc.held(holder).TryLock(ctx)
		if err != nil {
			return nil, err
		}
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
		var failed, had atomic.Int64
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if err := tc.wanted(locker).Do(ctx,
					func(context.Context, *lock.Hold) error { had.Add(1); return nil }); err != nil {
					failed.Add(1)
				}
			})
		}
		if err := m.settled(ctx); err != nil {
			return nil, err
		}
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
		time.Sleep(idle)
		longest, slow, scripts, err := m.end(ctx)
		if err != nil {
			return nil, err
		}
		lines = append(lines,
			fmt.Sprintf("| %d waiting for %s, idle for %v: %.1f scripts a second | %d | %d | %v | %d |",
				many, tc.name, idle, float64(scripts)/idle.Seconds(), scripts, failed.Load(), longest, slow))
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := h.Release(ctx); err != nil {
			return nil, err
		}
		all.Wait()
		line, err := m.line(ctx, fmt.Sprintf("%d of them have %s one after the other, in %v", had.Load(), tc.name,
			time.Since(begin).Round(time.Millisecond)), failed.Load())
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// settled waits until hardly any script runs: then all waiters have tried once.
func (m *meter) settled(ctx context.Context) error {
	for last := int64(-1); ; {
		time.Sleep(time.Second)
		_, _, n, err := m.end(ctx)
		if err != nil {
			return err
		}
		if last >= 0 && n-last <= 5 {
			return nil
		}
		last = n
	}
}

// manyNames uses many names once, and measures what is left after a while.
func manyNames(ctx context.Context, m *meter, c redis.UniversalClient, wait time.Duration) (lines []string, err error) {
	if err := m.admin.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	locker, err := lock.New(c, "once:")
	if err != nil {
		return nil, err
	}
	before, err := m.memory(ctx)
	if err != nil {
		return nil, err
	}
	failed := each(names, func(i int) error {
		h, err := locker.Mutex("name" + strconv.Itoa(i)).TryLock(ctx)
		if err != nil {
			return err
		}
		return h.Release(ctx)
	})
	line, err := m.line(ctx, fmt.Sprintf("%d names used once", names), failed)
	if err != nil {
		return nil, err
	}
	lines = append(lines, line)
	if err := m.begin(ctx); err != nil { // the log of slow scripts uses memory too
		return nil, err
	}
	var passed time.Duration
	for _, after := range slices.Compact([]time.Duration{0, min(wait, time.Minute), wait}) {
		time.Sleep(after - passed)
		passed = after
		keys, err := m.admin.DBSize(ctx).Result()
		if err != nil {
			return nil, err
		}
		bytes, err := m.memory(ctx)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("| left %v later | %d keys | | %.1f MB | |",
			after, keys, float64(bytes-before)/1e6))
	}
	return lines, nil
}

func (m *meter) memory(ctx context.Context) (int64, error) {
	info, err := m.admin.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
}

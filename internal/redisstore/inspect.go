package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/preflight"
)

// inspectTTL is how long the key lasts that an inspection writes.
const inspectTTL = 10 * time.Second

// Inspect asks Redis what a sale depends on. Of a cluster or behind Sentinels, one node is asked for its settings. What it does not
// show (managed servers forbid it) stays empty.
func (s *Store) Inspect(ctx context.Context) (r preflight.Redis, err error) {
	if r.Answer, err = preflight.Median(func() error { return s.commands.Ping(ctx).Err() }); err != nil {
		return r, fmt.Errorf("asking Redis: %w", translate(err))
	}
	if r.Write, err = preflight.Median(func() error { return s.commands.Set(ctx, s.keys.inspected(), "1", inspectTTL).Err() }); err != nil {
		return r, fmt.Errorf("writing to Redis: %w", translate(err))
	}
	asked := time.Now()
	now, err := s.commands.Time(ctx).Result()
	if err != nil {
		return r, fmt.Errorf("asking Redis for the time: %w", translate(err))
	}
	r.Ahead = now.Sub(asked.Add(time.Since(asked) / 2))
	if r.Used, r.Limit, err = s.Memory(ctx); err != nil {
		return r, err
	}
	setting := func(name string) string {
		values, _ := s.commands.ConfigGet(ctx, name).Result() // what it does not show is unknown
		return values[name]
	}
	r.AppendOnly, r.AppendFsync, r.Eviction = setting("appendonly"), setting("appendfsync"), setting("maxmemory-policy")
	said := s.said(ctx, "persistence")
	r.FailedWrites = said["aof_last_write_status"] == "err"
	r.Replicas, _ = strconv.Atoi(s.said(ctx, "replication")["connected_slaves"])
	return r, nil
}

// said returns a section of INFO; nothing where it is not shown.
func (s *Store) said(ctx context.Context, section string) map[string]string {
	text, _ := s.commands.Info(ctx, section).Result()
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			values[name] = value
		}
	}
	return values
}

// Instances returns the instances that have sent a heartbeat lately, by name.
func (s *Store) Instances(ctx context.Context) ([]preflight.Instance, error) {
	names, err := s.InstancesIn(ctx, 0) // every instance of any version works there
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	instances := make([]preflight.Instance, len(names))
	for i, name := range names {
		instances[i] = preflight.Instance{Name: instanceOf(name), Old: !strings.HasSuffix(name, readsFormats)}
	}
	return instances, nil
}

// instanceOf returns the name that SECKILL_INSTANCE gave, of a reporter's: instance:run formats.
func instanceOf(reporter string) string {
	name, _, _ := strings.Cut(reporter, " ")
	if colon := strings.LastIndexByte(name, ':'); colon > 0 {
		name = name[:colon]
	}
	return name
}

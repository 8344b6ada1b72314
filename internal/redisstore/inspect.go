package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order/partition"
	"seckill/internal/preflight"
)

// inspectTTL is how long the key lasts that an inspection writes.
const inspectTTL = 10 * time.Second

// InspectAll inspects the servers that have the partitions, each once and all at the same time: one that hangs delays no other.
func (s *Store) InspectAll(ctx context.Context, partitions []int) []preflight.Redis {
	return s.askAll(ctx, partitions, s.Inspect)
}

// Settings returns versions, settings and replicas of the servers that have the partitions, each once, and nothing that takes them time.
func (s *Store) Settings(ctx context.Context, partitions []int) []preflight.Redis {
	return s.askAll(ctx, partitions, s.settingsOf)
}

// askAll asks the servers that have the partitions, each about one of its own.
func (s *Store) askAll(ctx context.Context, partitions []int, ask func(context.Context, int) (preflight.Redis, error)) []preflight.Redis {
	servers := s.serversOf(ctx, partitions)
	var asking sync.WaitGroup
	for i, found := range servers {
		if found.Err != nil {
			continue
		}
		asking.Go(func() {
			r, err := ask(ctx, found.Partitions[0])
			r.Node, r.Partitions, r.Err = found.Node, found.Partitions, err
			servers[i] = r
		})
	}
	asking.Wait()
	return servers
}

// serversOf returns which servers have the partitions, in their order, each once.
func (s *Store) serversOf(ctx context.Context, partitions []int) (servers []preflight.Redis) {
	for _, number := range partitions {
		name := fmt.Sprintf("{p%d}", number)
		node, err := s.nodeOf(ctx, number)
		if err == nil {
			name = s.addressOf(node)
		}
		known := slices.IndexFunc(servers, func(r preflight.Redis) bool { return r.Node == name })
		if known < 0 {
			servers = append(servers, preflight.Redis{Node: name, Partitions: []int{number}, Err: err})
		} else if !slices.Contains(servers[known].Partitions, number) {
			servers[known].Partitions = append(servers[known].Partitions, number)
		}
	}
	return servers
}

// Inspect asks the server that has the partition for what its sales depend on. What it does not show (managed servers forbid it) stays
// empty; of the embedded one, only how fast it is.
func (s *Store) Inspect(ctx context.Context, number int) (r preflight.Redis, err error) {
	node, err := s.nodeOf(ctx, number)
	if err != nil {
		return r, err
	}
	key := s.keys.inspected()
	if _, cluster := s.commands.(*redis.ClusterClient); cluster {
		key = s.keys.inspectedIn(number)
	}
	if r.Answer, err = preflight.Median(func() error { return node.Ping(ctx).Err() }); err != nil {
		return r, fmt.Errorf("asking Redis: %w", translate(err))
	}
	if r.Write, err = preflight.Median(func() error { return node.Set(ctx, key, "1", inspectTTL).Err() }); err != nil {
		return r, fmt.Errorf("writing to Redis: %w", translate(err))
	}
	if s.options.Alone {
		return r, nil
	}
	asked := time.Now()
	now, err := node.Time(ctx).Result()
	if err != nil {
		return r, fmt.Errorf("asking Redis for the time: %w", translate(err))
	}
	r.Ahead = now.Sub(asked.Add(time.Since(asked) / 2))
	if r.Used, r.Limit, err = memoryOf(ctx, node); err != nil {
		return r, err
	}
	_ = inspectSettings(ctx, node, &r) // what it does not say is unknown
	return r, nil
}

// settingsOf is Settings of the server that has the partition.
func (s *Store) settingsOf(ctx context.Context, number int) (r preflight.Redis, err error) {
	node, err := s.nodeOf(ctx, number)
	if err != nil {
		return r, err
	}
	if r.Used, r.Limit, err = memoryOf(ctx, node); err != nil {
		return r, err
	}
	if err := inspectSettings(ctx, node, &r); err != nil {
		return r, fmt.Errorf("asking Redis for its settings: %w", translate(err))
	}
	return r, nil
}

// inspectSettings adds what a server shows of its settings, and how it stands. That it does not show something is no error.
func inspectSettings(ctx context.Context, node redis.Cmdable, r *preflight.Redis) error {
	var failed []error
	setting := func(name string) string {
		values, err := node.ConfigGet(ctx, name).Result()
		failed = append(failed, err)
		return values[name]
	}
	info := func(section, name string) string {
		values, err := infoOf(ctx, node, section)
		failed = append(failed, err)
		return values[name]
	}
	r.AppendOnly, r.AppendFsync, r.Eviction = setting("appendonly"), setting("appendfsync"), setting("maxmemory-policy")
	r.FailedWrites = info("persistence", "aof_last_write_status") == "err"
	r.Replicas, _ = strconv.Atoi(info("replication", "connected_slaves"))
	r.Version = info("server", "redis_version")
	return errors.Join(slices.DeleteFunc(failed, func(err error) bool {
		var refused redis.Error
		return errors.As(err, &refused)
	})...)
}

// infoOf returns a section of a server's INFO.
func infoOf(ctx context.Context, node redis.Cmdable, section string) (map[string]string, error) {
	text, err := node.Info(ctx, section).Result()
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			values[name] = value
		}
	}
	return values, err
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
		_, version := readHeartbeat(name)
		instances[i] = preflight.Instance{Name: partition.InstanceName(name), Version: version, Old: !strings.HasSuffix(name, readsFormats)}
	}
	return instances, nil
}

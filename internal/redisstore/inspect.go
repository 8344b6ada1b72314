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

	"seckill/internal/kit/preflight"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore/rediskit"
)

// inspectTTL is how long the key exists that an inspection writes.
const inspectTTL = 10 * time.Second

// InspectAll inspects the servers that have the partitions, each once and all at the same time: one that hangs delays
// no other.
func (s *Store) InspectAll(ctx context.Context, partitions []int) []preflight.Redis {
	servers := s.serversOf(ctx, partitions)
	var asking sync.WaitGroup
	for i, found := range servers {
		if found.Err != nil {
			continue
		}
		asking.Go(func() {
			r, err := s.Inspect(ctx, found.Partitions[0])
			r.Node, r.Partitions, r.Err = found.Node, found.Partitions, err
			servers[i] = r
		})
	}
	asking.Wait()
	return servers
}

// serversOf returns the servers that have the partitions, in the partitions' order, each once.
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

// Inspect reads from the partition's server the facts on which its sales depend. Facts that the server hides (managed
// ones do) stay empty; for the embedded server it only measures the speed.
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
		return r, fmt.Errorf("asking Redis: %w", rediskit.Translate(err))
	}
	if r.Write, err = preflight.Median(func() error { return node.Set(ctx, key, "1", inspectTTL).Err() }); err != nil {
		return r, fmt.Errorf("writing to Redis: %w", rediskit.Translate(err))
	}
	if s.options.Alone {
		return r, nil
	}
	asked := time.Now()
	now, err := node.Time(ctx).Result()
	if err != nil {
		return r, fmt.Errorf("asking Redis for the time: %w", rediskit.Translate(err))
	}
	r.Ahead = now.Sub(asked.Add(time.Since(asked) / 2))
	if err := showsRunID(ctx, node); errors.Is(err, ErrNoRunID) {
		r.NoInfo = true
	} else if err != nil {
		return r, err
	}
	if !r.NoInfo {
		if r.Used, r.Limit, err = memoryOf(ctx, node); err != nil {
			return r, err
		}
	}
	inspectSettings(ctx, node, &r)
	return r, nil
}

// inspectSettings adds the settings and the state that a server shows.
func inspectSettings(ctx context.Context, node redis.Cmdable, r *preflight.Redis) {
	setting := func(name string) string {
		values, _ := node.ConfigGet(ctx, name).Result() // empty if the server hides it
		return values[name]
	}
	r.AppendOnly, r.AppendFsync, r.Eviction = setting("appendonly"), setting("appendfsync"), setting("maxmemory-policy")
	r.FailedWrites = infoOf(ctx, node, "persistence")["aof_last_write_status"] == "err"
	r.Replicas, _ = strconv.Atoi(infoOf(ctx, node, "replication")["connected_slaves"])
}

// infoOf returns a section of a server's INFO; nil if the server hides it.
func infoOf(ctx context.Context, node redis.Cmdable, section string) map[string]string {
	text, _ := node.Info(ctx, section).Result()
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			values[name] = value
		}
	}
	return values
}

// Instances returns the instances that have recently sent a heartbeat, by name.
func (s *Store) Instances(ctx context.Context) ([]preflight.Instance, error) {
	names, err := s.InstancesIn(ctx, 0) // every instance of any version works there
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	instances := make([]preflight.Instance, len(names))
	for i, name := range names {
		_, version, formats := readHeartbeat(name)
		reads := func(format string) bool { return slices.Contains(formats, format) }
		instances[i] = preflight.Instance{
			Name: partition.InstanceName(name), Version: version,
			Old: slices.ContainsFunc(s.options.Formats, func(format string) bool { return !reads(format) }),
		}
	}
	return instances, nil
}

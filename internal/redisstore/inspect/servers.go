package inspect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/kit/preflight"
	"seckill/internal/redisstore/rediskit"
)

// inspectTTL is how long the key exists that an inspection writes.
const inspectTTL = 10 * time.Second

// Options are the settings of Servers.
type Options struct {
	// Prefix precedes every key.
	Prefix string
	// Alone says that the server is the embedded mode's, inside this process.
	Alone bool
}

// Servers is the Redis servers that have the partitions: their settings, speed and memory. It is safe for concurrent
// use.
type Servers struct {
	client     redis.UniversalClient
	partitions rediskit.Partitions
	options    Options
	log        *slog.Logger
}

// New returns the servers of the client. It makes no call.
func New(client redis.UniversalClient, partitions rediskit.Partitions, o Options, log *slog.Logger) *Servers {
	return &Servers{client: client, partitions: partitions, options: o, log: log}
}

// keyIn is written by an inspection of the partition's server, to measure how long a write takes (string). It expires.
// On a cluster it is in the partition.
func (s *Servers) keyIn(partition int) string {
	if _, cluster := s.client.(*redis.ClusterClient); cluster {
		return s.partitions.Key(partition, "inspected")
	}
	return s.options.Prefix + "inspected"
}

// node returns the partition's server.
func (s *Servers) node(ctx context.Context, partition int) (redis.UniversalClient, error) {
	return rediskit.Node(ctx, s.client, s.partitions.Key(partition, "inspected"))
}

// InspectAll inspects the servers that have the partitions, each once and all at the same time: one that hangs delays
// no other.
func (s *Servers) InspectAll(ctx context.Context, partitions []int) []preflight.Redis {
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
func (s *Servers) serversOf(ctx context.Context, partitions []int) (servers []preflight.Redis) {
	for _, number := range partitions {
		name := fmt.Sprintf("{p%d}", number)
		node, err := s.node(ctx, number)
		if err == nil {
			name = rediskit.AddressOf(s.client, node)
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
func (s *Servers) Inspect(ctx context.Context, number int) (r preflight.Redis, err error) {
	node, err := s.node(ctx, number)
	if err != nil {
		return r, err
	}
	key := s.keyIn(number)
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
	r.FailedWrites = rediskit.Info(ctx, node, "persistence")["aof_last_write_status"] == "err"
	r.Replicas, _ = strconv.Atoi(rediskit.Info(ctx, node, "replication")["connected_slaves"])
}

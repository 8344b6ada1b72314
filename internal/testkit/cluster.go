package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterPatience is how long a cluster may take to form, to fail over, or to spread a change. A busy machine needs
// several seconds.
const clusterPatience = 2 * time.Minute

// nodePatience is how long a node may take to answer. As a cluster forms, its nodes write their configuration to a disk
// that may be busy, and most of these commands may not be repeated.
const nodePatience = 30 * time.Second

// RedisCluster is a Redis Cluster of several servers for one test. Its methods fail the test if something does not
// happen in time.
type RedisCluster struct {
	// Nodes are the initial masters, then a replica of each in the same order, then a second one of each and so on,
	// then the nodes from AddNode.
	Nodes []*RedisServer
	tb    testing.TB
	args  []string // of each node
	known map[int]*redis.Client
}

// StartRedisClusterOf starts a Redis Cluster with the given number of masters, which share the slots evenly, and of
// replicas of each. A master that is silent for nodeTimeout is replaced. args are appended to each server's command
// line.
func StartRedisClusterOf(
	tb testing.TB, masters, replicas int, nodeTimeout time.Duration, args ...string,
) *RedisCluster {
	tb.Helper()
	c := &RedisCluster{tb: tb, known: map[int]*redis.Client{}, args: append([]string{
		"--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
		"--cluster-node-timeout", fmt.Sprint(nodeTimeout.Milliseconds()), "--cluster-allow-replica-migration", "no",
	}, args...)}
	for range masters * (1 + replicas) {
		c.Nodes = append(c.Nodes, StartRedis(tb, c.args...))
	}
	for i := range masters {
		c.do(i, "cluster", "set-config-epoch", i+1)
		c.do(i, "cluster", "addslotsrange", i*16384/masters, (i+1)*16384/masters-1)
	}
	for i := range c.Nodes[1:] {
		c.meet(i + 1)
	}
	for i := range masters * replicas {
		id := c.id(i % masters)
		eventually(c.tb, "a replica that knows its master", func() error {
			return c.try(masters+i, "cluster", "replicate", id).Err()
		})
	}
	c.AwaitReady()
	return c
}

// Addrs returns the addresses of all nodes.
func (c *RedisCluster) Addrs() (addrs []string) {
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addr)
	}
	return addrs
}

// AddNode adds a master without slots.
func (c *RedisCluster) AddNode() {
	c.tb.Helper()
	c.Nodes = append(c.Nodes, StartRedis(c.tb, c.args...))
	last := len(c.Nodes) - 1
	c.do(last, "cluster", "set-config-epoch", last+1)
	c.meet(last)
	c.AwaitReady()
}

// Master returns the number of the node that serves the key's slot, according to the other nodes.
func (c *RedisCluster) Master(key string) int {
	c.tb.Helper()
	slot, addr := c.slot(key), ""
	eventually(c.tb, "a master of "+key, func() error {
		for i := range c.Nodes {
			//nolint:staticcheck // deprecated, but what the client itself goes by
			ranges, err := c.client(i).ClusterSlots(c.tb.Context()).Result()
			if err != nil {
				continue // this one may be dead
			}
			for _, r := range ranges {
				if r.Start <= slot && slot <= r.End {
					addr = r.Nodes[0].Addr
					return nil
				}
			}
		}
		return fmt.Errorf("no node knows who serves slot %d", slot)
	})
	return c.number(addr)
}

// Masters returns the numbers of the nodes that are masters now.
func (c *RedisCluster) Masters() (masters []int) {
	c.tb.Helper()
	for i := range c.Nodes {
		if role, err := c.try(i, "role").Slice(); err == nil && role[0] == "master" {
			masters = append(masters, i)
		}
	}
	return masters
}

// Replica returns the number of a replica of the node.
func (c *RedisCluster) Replica(master int) int {
	c.tb.Helper()
	replicas, err := c.try(master, "cluster", "replicas", c.id(master)).StringSlice()
	if err != nil || len(replicas) == 0 {
		c.tb.Fatalf("testkit: node %d of the cluster has no replica: %v", master, err)
	}
	return c.number(strings.Split(strings.Fields(replicas[0])[1], "@")[0])
}

// Failover promotes a replica as an operator does: the master stops writing until the replica has caught up.
func (c *RedisCluster) Failover(replica int) {
	c.tb.Helper()
	c.do(replica, "cluster", "failover")
	eventually(c.tb, "the failover", func() error {
		role, err := c.client(replica).Do(c.tb.Context(), "role").Slice()
		if err == nil && role[0] != "master" {
			err = fmt.Errorf("the node is still a %v", role[0])
		}
		return err
	})
}

// MoveSlot moves a key's slot with all its keys to another master, as redis-cli --cluster reshard does: one key after
// another, with a pause before each, while both nodes serve the slot.
func (c *RedisCluster) MoveSlot(key string, to int, pause time.Duration) {
	c.tb.Helper()
	if err := c.Mover(key, to, pause)(); err != nil {
		c.tb.Fatalf("testkit: moving a slot: %v", err)
	}
}

// Mover returns a function that does the same as MoveSlot, from the slot's current node, in any goroutine. It changes
// nothing if either node is no longer a master.
func (c *RedisCluster) Mover(key string, to int, pause time.Duration) func() error {
	c.tb.Helper()
	from := c.Master(key)
	m := slotMove{
		from: c.client(from), to: c.client(to), fromID: c.id(from), toID: c.id(to), slot: c.slot(key), pause: pause,
	}
	return func() error { return m.run(c.tb.Context()) }
}

// slotMove is the move of a slot from one node to another.
type slotMove struct {
	from, to     *redis.Client
	fromID, toID string
	slot         int
	pause        time.Duration
}

func (m slotMove) run(ctx context.Context) error {
	for _, node := range []*redis.Client{m.from, m.to} {
		role, err := node.Do(ctx, "role").Slice()
		if err == nil && role[0] != "master" {
			err = fmt.Errorf("it is a %v now: the cluster has failed over since the move was planned, or it never "+
				"was a master", role[0])
		}
		if err != nil {
			return fmt.Errorf("slot %d cannot move: %s: %w", m.slot, node.Options().Addr, err)
		}
	}
	if err := again(ctx, m.to, "cluster", "setslot", m.slot, "importing", m.fromID); err != nil {
		return err
	}
	if err := again(ctx, m.from, "cluster", "setslot", m.slot, "migrating", m.toID); err != nil {
		return err
	}
	if err := m.moveKeys(ctx); err != nil {
		return err
	}
	for _, node := range []*redis.Client{m.to, m.from} {
		if err := again(ctx, node, "cluster", "setslot", m.slot, "node", m.toID); err != nil {
			return err
		}
	}
	return nil
}

func (m slotMove) moveKeys(ctx context.Context) error {
	host, port, err := net.SplitHostPort(m.to.Options().Addr)
	if err != nil {
		return err
	}
	for {
		<-time.After(m.pause)
		keys, err := m.from.ClusterGetKeysInSlot(ctx, m.slot, 1).Result()
		if err != nil || len(keys) == 0 {
			return err
		}
		if err = again(ctx, m.from, "migrate", host, port, keys[0], 0, 10_000, "replace"); err != nil {
			return err
		}
	}
}

// again repeats an idempotent command until the node answers: a busy node may exceed a client's timeout. A key that is
// then on both nodes belongs to the node that it is leaving, whose copy replaces the other one.
func again(ctx context.Context, node *redis.Client, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, clusterPatience)
	defer cancel()
	for {
		err := node.Do(ctx, args...).Err()
		refused, answered := errors.AsType[redis.Error](err)
		if err == nil || answered && !strings.HasPrefix(refused.Error(), "IOERR") {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Empty removes all keys from all masters that answer.
func (c *RedisCluster) Empty() {
	c.tb.Helper()
	for _, i := range c.Masters() {
		c.do(i, "flushall")
	}
}

// For returns the same cluster for a part of the test: failures then fail that part.
func (c *RedisCluster) For(tb testing.TB) *RedisCluster {
	tb.Helper()
	part := &RedisCluster{tb: tb, args: c.args, known: map[int]*redis.Client{}}
	for _, n := range c.Nodes {
		part.Nodes = append(part.Nodes, &RedisServer{Redis: n.Redis, tb: tb})
	}
	return part
}

// AwaitReady waits until each node that answers reports that all slots are served and that it knows all the others.
func (c *RedisCluster) AwaitReady() {
	c.tb.Helper()
	eventually(c.tb, "a complete cluster", func() error {
		for i := range c.Nodes {
			info, err := c.client(i).ClusterInfo(c.tb.Context()).Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info,
				fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))) {
				return fmt.Errorf("node %d: %s", i, info)
			}
			link := c.client(i).Info(c.tb.Context(), "replication").Val()
			if strings.Contains(link, "master_link_status:down") {
				return fmt.Errorf("node %d: %s", i, link)
			}
		}
		return nil
	})
}

// slot returns the slot of a key.
func (c *RedisCluster) slot(key string) int {
	c.tb.Helper()
	for i := range c.Nodes {
		if slot, err := c.client(i).ClusterKeySlot(c.tb.Context(), key).Result(); err == nil {
			return int(slot)
		}
	}
	c.tb.Fatalf("testkit: no node of the cluster answers")
	return 0
}

// meet introduces a node to the first one.
func (c *RedisCluster) meet(i int) {
	c.tb.Helper()
	host, port, err := net.SplitHostPort(c.Nodes[0].Addr)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.do(i, "cluster", "meet", host, port)
}

func (c *RedisCluster) id(i int) string {
	c.tb.Helper()
	id, err := c.client(i).Do(c.tb.Context(), "cluster", "myid").Text()
	if err != nil {
		c.tb.Fatalf("testkit: node %d of the cluster: %v", i, err)
	}
	return id
}

// number returns the number of the node with the address.
func (c *RedisCluster) number(addr string) int {
	c.tb.Helper()
	for i, n := range c.Nodes {
		if n.Addr == addr {
			return i
		}
	}
	c.tb.Fatalf("testkit: no node of the cluster is at %q", addr)
	return 0
}

func (c *RedisCluster) do(i int, args ...any) {
	c.tb.Helper()
	if err := c.try(i, args...).Err(); err != nil {
		c.tb.Fatalf("testkit: node %d of the cluster: %v: %v", i, args, err)
	}
}

func (c *RedisCluster) try(i int, args ...any) *redis.Cmd {
	return c.client(i).Do(c.tb.Context(), args...)
}

// client returns the client of a node, creating it at the first call.
func (c *RedisCluster) client(i int) *redis.Client {
	if c.known[i] == nil {
		client := redis.NewClient(&redis.Options{
			Addr: c.Nodes[i].Addr, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: nodePatience,
		})
		c.tb.Cleanup(func() { _ = client.Close() }) // nothing is in flight any more
		c.known[i] = client
	}
	return c.known[i]
}

// eventually retries ok, and fails the test after clusterPatience.
func eventually(tb testing.TB, what string, ok func() error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), clusterPatience)
	defer cancel()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("testkit: %s did not come in time: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

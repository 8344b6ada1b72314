package testkit

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelName is the Sentinels' name for the master.
const sentinelName = "seckill"

// RedisSentinels is a master with replicas and three Sentinels that watch them.
type RedisSentinels struct {
	Nodes     []*RedisServer // initially the first is the master
	Sentinels []*RedisServer
	Name      string // the Sentinels' name for the master
	// Link is a proxy between the first node and everybody else, who know that node by the link's address. Nil: there
	// is no proxy.
	Link *Proxy
	tb   testing.TB
}

// StartRedisSentinels starts a master with a replica, and Sentinels that replace a master that is silent for downAfter.
// args are appended to the command lines of master and replica.
func StartRedisSentinels(tb testing.TB, downAfter time.Duration, args ...string) *RedisSentinels {
	tb.Helper()
	s := &RedisSentinels{tb: tb, Name: sentinelName}
	s.startNodes(1, args)
	s.follow(s.Nodes[0].Addr)
	s.watch(s.Nodes[0].Addr, downAfter)
	return s
}

// StartLinkedRedisSentinels is StartRedisSentinels with several replicas, and with a Link in front of the master.
func StartLinkedRedisSentinels(tb testing.TB, replicas int, downAfter time.Duration, args ...string) *RedisSentinels {
	tb.Helper()
	s := &RedisSentinels{tb: tb, Name: sentinelName}
	s.startNodes(replicas, args)
	s.Link = NewProxy(tb, s.Nodes[0].Addr)
	s.follow(s.Link.Addr)
	s.watch(s.Link.Addr, downAfter)
	return s
}

// startNodes starts the master and its replicas, without replication.
func (s *RedisSentinels) startNodes(replicas int, args []string) {
	s.tb.Helper()
	for range 1 + replicas {
		s.Nodes = append(s.Nodes, StartRedis(s.tb, append([]string{"--repl-diskless-sync-delay", "0"}, args...)...))
	}
}

// follow has the replicas follow the master at its address.
func (s *RedisSentinels) follow(master string) {
	s.tb.Helper()
	host, port := s.split(master)
	for _, replica := range s.Nodes[1:] {
		s.must(replica.Client().Do(s.tb.Context(), "replicaof", host, port).Err())
	}
}

// watch starts the Sentinels, and waits until they know each other and all nodes.
func (s *RedisSentinels) watch(master string, downAfter time.Duration) {
	s.tb.Helper()
	host, port := s.split(master)
	for range 3 {
		sentinel := StartRedis(s.tb, "--sentinel")
		client := sentinel.Client()
		s.must(client.Do(s.tb.Context(), "sentinel", "monitor", s.Name, host, port, 2).Err())
		s.must(client.Do(s.tb.Context(), "sentinel", "set", s.Name, "failover-timeout", 10_000).Err())
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	s.DownAfter(downAfter)
	sentinels := s.sentinels()
	eventually(s.tb, "Sentinels that know each other and the replicas", func() error {
		for _, sentinel := range sentinels {
			state, err := sentinel.Master(s.tb.Context(), s.Name).Result()
			if err != nil || state["num-other-sentinels"] != "2" || state["num-slaves"] != fmt.Sprint(len(s.Nodes)-1) ||
				state["flags"] != "master" {
				return fmt.Errorf("%v, %w", state, err)
			}
		}
		for _, replica := range s.Nodes[1:] {
			if info := replica.Client().Info(s.tb.Context(), "replication").Val(); !strings.Contains(info,
				"master_link_status:up") {
				return fmt.Errorf("replica: %s", info)
			}
		}
		return nil
	})
}

// DownAfter sets how long a master must be silent before it is replaced.
func (s *RedisSentinels) DownAfter(d time.Duration) {
	s.tb.Helper()
	for _, sentinel := range s.Sentinels {
		s.must(sentinel.Client().Do(s.tb.Context(), "sentinel", "set", s.Name, "down-after-milliseconds",
			d.Milliseconds()).Err())
	}
}

// AwaitReplaced waits until the Sentinels have promoted a replica instead of the first node, and returns that replica.
func (s *RedisSentinels) AwaitReplaced() *RedisServer {
	s.tb.Helper()
	sentinel, promoted := s.sentinels()[0], -1
	eventually(s.tb, "a replica in the master's place", func() error {
		addr, err := sentinel.GetMasterAddrByName(s.tb.Context(), s.Name).Result()
		if err != nil {
			return err
		}
		promoted = slices.IndexFunc(s.Nodes,
			func(n *RedisServer) bool { return n.Addr == net.JoinHostPort(addr[0], addr[1]) })
		if promoted < 1 {
			return fmt.Errorf("the master is %v", addr)
		}
		return nil
	})
	return s.Nodes[promoted]
}

// Addrs returns the Sentinels' addresses.
func (s *RedisSentinels) Addrs() (addrs []string) {
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr)
	}
	return addrs
}

// Failover has the Sentinels promote a replica, as an operator does.
func (s *RedisSentinels) Failover() {
	s.tb.Helper()
	sentinel := s.sentinels()[0]
	eventually(s.tb, "a failover that begins", func() error { return sentinel.Failover(s.tb.Context(), s.Name).Err() })
	s.AwaitReplaced()
}

func (s *RedisSentinels) sentinels() (clients []*redis.SentinelClient) {
	for _, sentinel := range s.Sentinels {
		client := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr})
		s.tb.Cleanup(func() { _ = client.Close() }) // no call is under way
		clients = append(clients, client)
	}
	return clients
}

func (s *RedisSentinels) split(addr string) (host, port string) {
	s.tb.Helper()
	host, port, err := net.SplitHostPort(addr)
	s.must(err)
	return host, port
}

func (s *RedisSentinels) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatalf("testkit: Sentinels: %v", err)
	}
}

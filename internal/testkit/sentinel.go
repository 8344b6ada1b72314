package testkit

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelName is what the Sentinels of a test call its master.
const sentinelName = "seckill"

// RedisSentinels are a master with a replica and three Sentinels that watch them.
type RedisSentinels struct {
	Nodes     []*RedisServer // the first is the master at first
	Sentinels []*RedisServer
	Name      string // of the master, among the Sentinels
	tb        testing.TB
}

// StartRedisSentinels starts a master with a replica, and Sentinels that replace a master that has been silent for
// downAfter. args are appended to the command lines of master and replica.
func StartRedisSentinels(tb testing.TB, downAfter time.Duration, args ...string) *RedisSentinels {
	tb.Helper()
	s := &RedisSentinels{tb: tb, Name: sentinelName}
	for range 2 {
		s.Nodes = append(s.Nodes, StartRedis(tb, append([]string{"--repl-diskless-sync-delay", "0"}, args...)...))
	}
	host, port, err := net.SplitHostPort(s.Nodes[0].Addr)
	if err != nil {
		tb.Fatal(err)
	}
	s.must(s.Nodes[1].Client().Do(tb.Context(), "replicaof", host, port).Err())
	for range 3 {
		sentinel := StartRedis(tb, "--sentinel")
		client := sentinel.Client()
		s.must(client.Do(tb.Context(), "sentinel", "monitor", s.Name, host, port, 2).Err())
		for _, set := range [][]any{{"down-after-milliseconds", downAfter.Milliseconds()}, {"failover-timeout", 10_000}} {
			s.must(client.Do(tb.Context(), append([]any{"sentinel", "set", s.Name}, set...)...).Err())
		}
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	sentinels := s.sentinels()
	eventually(tb, "Sentinels that know each other and the replica", func() error {
		for _, sentinel := range sentinels {
			state, err := sentinel.Master(tb.Context(), s.Name).Result()
			if err != nil || state["num-other-sentinels"] != "2" || state["num-slaves"] != "1" || state["flags"] != "master" {
				return fmt.Errorf("%v, %w", state, err)
			}
		}
		if info := s.Nodes[1].Client().Info(tb.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return fmt.Errorf("replica: %s", info)
		}
		return nil
	})
	return s
}

// Addrs returns the Sentinels' addresses.
func (s *RedisSentinels) Addrs() (addrs []string) {
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr)
	}
	return addrs
}

// Failover has the Sentinels put the replica in the master's place, as an operator does.
func (s *RedisSentinels) Failover() {
	s.tb.Helper()
	sentinel := s.sentinels()[0]
	eventually(s.tb, "a failover that begins", func() error { return sentinel.Failover(s.tb.Context(), s.Name).Err() })
	eventually(s.tb, "the failover", func() error {
		addr, err := sentinel.GetMasterAddrByName(s.tb.Context(), s.Name).Result()
		if err == nil && net.JoinHostPort(addr[0], addr[1]) != s.Nodes[1].Addr {
			err = fmt.Errorf("the master is %v", addr)
		}
		return err
	})
}

func (s *RedisSentinels) sentinels() (clients []*redis.SentinelClient) {
	for _, sentinel := range s.Sentinels {
		client := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr})
		s.tb.Cleanup(func() { _ = client.Close() }) // nothing is under way
		clients = append(clients, client)
	}
	return clients
}

func (s *RedisSentinels) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatalf("testkit: Sentinels: %v", err)
	}
}

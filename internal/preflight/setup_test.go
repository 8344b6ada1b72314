package preflight

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sources answer as servers of a real sale do.
func sources() SetupSources {
	server := func() Redis {
		return Redis{Version: "7.2.4", AppendOnly: "yes", AppendFsync: "always", Eviction: "noeviction", Limit: 100 << 20, Replicas: 1}
	}
	return SetupSources{
		Redis: func(context.Context) []Redis { return []Redis{server(), server()} },
		Ledger: func(context.Context) (Ledger, error) {
			return Ledger{Version: "8.4.0", FlushAtTrx: "1", SyncBinlog: "1", MaxConnected: 151}, nil
		},
		Instances: func(context.Context) ([]Instance, error) {
			return []Instance{{Name: "a", Version: "v2"}, {Name: "b", Version: "v1"}, {Name: "c", Version: "v2"}}, nil
		},
		Partitions: 4, Settings: map[string]string{"SECKILL_USER_RATE": "10"},
	}
}

// read is what those sources say.
func read() Setup {
	return Setup{
		"instances": "3", "instances.versions": "v1, v2", "partitions": "4",
		"redis.servers": "2", "redis.version": "7.2.4", "redis.replicas": "1",
		"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction", "maxmemory": "100 MiB",
		"ledger.version": "8.4.0", "innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "max_connections": "151",
		"SECKILL_USER_RATE": "10",
	}
}

// ofRedis and ofLedger are the names that one server or the database alone can tell.
var (
	ofRedis  = []string{"redis.servers", "redis.version", "redis.replicas", "appendonly", "appendfsync", "maxmemory-policy", "maxmemory"}
	ofLedger = []string{"ledger.version", "innodb_flush_log_at_trx_commit", "sync_binlog", "max_connections"}
)

func TestReadSetup(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for name, tc := range map[string]struct {
		change func(*SetupSources)
		want   map[string]string // that differs from read
		lost   []string          // what could not be read
		fails  bool
	}{
		"all is there": {change: func(*SetupSources) {}},
		"servers differ": {change: func(s *SetupSources) {
			all := s.Redis(t.Context())
			all[1].AppendFsync, all[1].Limit = "everysec", 3<<19
			s.Redis = func(context.Context) []Redis { return all }
		}, want: map[string]string{"appendfsync": "always, everysec", "maxmemory": "1.5 MiB, 100 MiB"}},
		"no limit of memory, no binary log": {change: func(s *SetupSources) {
			s.Redis = func(context.Context) []Redis {
				return []Redis{{Version: "7.2.4", AppendOnly: "yes", AppendFsync: "always", Eviction: "noeviction", Replicas: 1}}
			}
			s.Ledger = func(context.Context) (Ledger, error) {
				return Ledger{Version: "8.4.0", FlushAtTrx: "1", MaxConnected: 151}, nil
			}
		}, want: map[string]string{"redis.servers": "1", "maxmemory": "0", "sync_binlog": "log_bin OFF"}},
		"settings are not shown": {change: func(s *SetupSources) {
			all := s.Redis(t.Context())
			all[0].AppendFsync, all[1].Eviction = "", ""
			s.Redis = func(context.Context) []Redis { return all }
		}, lost: []string{"appendfsync", "maxmemory-policy"}},
		"one server is away": {change: func(s *SetupSources) {
			all := s.Redis(t.Context())
			all[1] = Redis{Err: away}
			s.Redis = func(context.Context) []Redis { return all }
		}, lost: ofRedis, fails: true},
		"the ledger is away":       {change: func(s *SetupSources) { s.Ledger = func(context.Context) (Ledger, error) { return Ledger{}, away } }, lost: ofLedger, fails: true},
		"instances cannot be read": {change: func(s *SetupSources) { s.Instances = func(context.Context) ([]Instance, error) { return nil, away } }, lost: []string{"instances", "instances.versions"}, fails: true},
		"an instance says no version": {change: func(s *SetupSources) {
			s.Instances = func(context.Context) ([]Instance, error) { return []Instance{{Name: "a"}}, nil }
		}, want: map[string]string{"instances": "1", "instances.versions": "?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, want := sources(), read()
			tc.change(&asked)
			maps.Copy(want, tc.want)
			for _, thing := range tc.lost {
				want[thing] = ""
			}
			got, err := ReadSetup(t.Context(), asked)
			if diff := cmp.Diff(want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// One process with everything inside has no servers to ask.
func TestReadSetupEmbedded(t *testing.T) {
	t.Parallel()
	got, err := ReadSetup(t.Context(), SetupSources{Partitions: 1, Settings: map[string]string{"SECKILL_USER_RATE": "10"}, Embedded: true, Version: "v3"})
	want := Setup{"instances": "1", "instances.versions": "v3", "partitions": "1", "SECKILL_USER_RATE": "10"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Sources that hang cost what they would have said, and no more time than one of them may take.
func TestReadSetupFromSourcesThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := sources()
		asked.Redis = func(ctx context.Context) []Redis { <-ctx.Done(); return []Redis{{Err: ctx.Err()}} }
		asked.Ledger = func(ctx context.Context) (Ledger, error) { <-ctx.Done(); return Ledger{}, ctx.Err() }
		began := time.Now()
		got, err := ReadSetup(t.Context(), asked)
		if took := time.Since(began); took > sourceTimeout || err == nil || got["appendfsync"] != "" || got["instances"] != "3" {
			t.Errorf("after %v: %v, %v", took, got, err)
		}
	})
}

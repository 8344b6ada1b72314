package preflight

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Setup is what is around a sale, and tends to be changed between two: versions, numbers and settings of instances, Redis and database,
// by name, each value as people are shown it. "" is a value that could not be read. It is kept as JSON, so names stay.
type Setup map[string]string

// Names in a setup that are not those of a setting.
const (
	setupInstances     = "instances"
	setupVersions      = "instances.versions"
	setupPartitions    = "partitions"
	setupRedisServers  = "redis.servers"
	setupRedisVersion  = "redis.version"
	setupRedisReplicas = "redis.replicas"
	setupLedgerVersion = "ledger.version"
)

// SetupSources are who is asked for a setup. What they return with an error is not looked at.
type SetupSources struct {
	Redis     func(ctx context.Context) []Redis // the servers of all partitions, each with its settings; an error is each server's own
	Ledger    func(ctx context.Context) (Ledger, error)
	Instances func(ctx context.Context) ([]Instance, error)

	// What is known without asking.
	Partitions int
	Settings   map[string]string // of the service, by variable; none is ""
	// Embedded says that one process has everything inside: no Redis and no Ledger is asked, and there is one instance, of the Version.
	Embedded bool
	Version  string
}

// ReadSetup asks all sources at once, and returns what they say after sourceTimeout at most. The error says what could not be read; the rest
// is right all the same.
func ReadSetup(ctx context.Context, s SetupSources) (Setup, error) {
	setup := Setup{setupPartitions: strconv.Itoa(s.Partitions)}
	maps.Copy(setup, s.Settings)
	if s.Embedded {
		setup[setupInstances], setup[setupVersions] = "1", s.Version
		return setup, nil
	}
	redis := ask(ctx, func(ctx context.Context) ([]Redis, error) { return s.Redis(ctx), nil })
	ledger, instances := ask(ctx, s.Ledger), ask(ctx, s.Instances)
	servers, _ := redis() // never an error
	errRedis := setup.addRedis(servers)
	l, errLedger := ledger()
	setup.addLedger(l, errLedger)
	living, errInstances := instances()
	setup.addInstances(living, errInstances)
	return setup, errors.Join(errRedis, errLedger, errInstances)
}

// addRedis adds what all servers say. If one does not answer, nothing is known of all.
func (s Setup) addRedis(servers []Redis) (err error) {
	for name, of := range map[string]func(Redis) string{
		setupRedisVersion:  func(r Redis) string { return r.Version },
		setupRedisReplicas: func(r Redis) string { return strconv.Itoa(r.Replicas) },
		"appendonly":       func(r Redis) string { return r.AppendOnly },
		"appendfsync":      func(r Redis) string { return r.AppendFsync },
		"maxmemory-policy": func(r Redis) string { return r.Eviction },
		"maxmemory":        func(r Redis) string { return mebibytes(r.Limit) },
	} {
		s[name] = alike(servers, of)
	}
	s[setupRedisServers] = ""
	for _, r := range servers {
		err = errors.Join(err, r.Err)
	}
	if len(servers) > 0 && err == nil {
		s[setupRedisServers] = strconv.Itoa(len(servers))
	}
	return err
}

// alike returns the values of the servers, each once; "" if one of them is not known.
func alike(servers []Redis, of func(Redis) string) string {
	var values []string
	for _, r := range servers {
		value := of(r)
		if r.Err != nil || value == "" {
			return ""
		}
		values = append(values, value)
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

// mebibytes is a number of bytes as people are shown it; 0, as Redis has it, is no limit.
func mebibytes(n int64) string {
	if n == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', -1, 64) + " MiB"
}

func (s Setup) addLedger(l Ledger, err error) {
	const flushAtTrx, syncBinlog, maxConnections = "innodb_flush_log_at_trx_commit", "sync_binlog", "max_connections"
	s[setupLedgerVersion], s[flushAtTrx], s[syncBinlog], s[maxConnections] = "", "", "", ""
	if err != nil {
		return
	}
	s[setupLedgerVersion], s[flushAtTrx], s[syncBinlog] = l.Version, l.FlushAtTrx, l.SyncBinlog
	if l.SyncBinlog == "" {
		s[syncBinlog] = "log_bin OFF"
	}
	s[maxConnections] = strconv.Itoa(l.MaxConnected)
}

func (s Setup) addInstances(living []Instance, err error) {
	s[setupInstances], s[setupVersions] = "", ""
	if err != nil {
		return
	}
	versions := make([]string, len(living))
	for i, instance := range living {
		versions[i] = shown(instance.Version)
	}
	slices.Sort(versions)
	s[setupInstances], s[setupVersions] = strconv.Itoa(len(living)), strings.Join(slices.Compact(versions), ", ")
}

// thingsOf returns all names in two setups, in the order in which people are told of them: the service's own settings last.
func thingsOf(a, b Setup) []string {
	first := []string{setupInstances, setupVersions, setupPartitions, setupRedisServers, setupRedisVersion, setupRedisReplicas, setupLedgerVersion}
	all := maps.Clone(a)
	maps.Copy(all, b)
	rank := func(name string) string {
		switch i := slices.Index(first, name); {
		case i >= 0:
			return fmt.Sprintf("0%d", i)
		case strings.HasPrefix(name, "SECKILL_"):
			return "2" + name
		}
		return "1" + name
	}
	names := slices.Collect(maps.Keys(all))
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return names
}

// called is what a thing of a setup is called; settings have their own names.
func called(name string) text {
	switch name {
	case setupInstances:
		return text{"instances", "实例数"}
	case setupVersions:
		return text{"versions", "实例版本"}
	case setupPartitions:
		return text{"partitions", "分区数"}
	case setupRedisServers:
		return text{"Redis servers", "Redis 节点数"}
	case setupRedisVersion:
		return text{"Redis", "Redis 版本"}
	case setupRedisReplicas:
		return text{"replicas connected", "已连接副本数"}
	case setupLedgerVersion:
		return text{"database", "数据库版本"}
	}
	return text{name, name}
}

package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

const dsnForm = "user:password@tcp(host:3306)/database"

// checkStores decides between Redis and MySQL, both of which must be set, and the embedded mode.
func checkStores(vars map[string]string, c *Config, ps *problems) {
	redis, sql := len(c.Redis.Addrs) > 0, c.MySQL.DSN != ""
	// A setting about a store implies that the store exists: ignoring it would sell from the wrong store.
	redisHint, sqlHint := firstSet(vars, "SECKILL_REDIS_"), firstSet(vars, "SECKILL_MYSQL_")
	switch {
	case redis && sql:
	case redis:
		ps.add("SECKILL_MYSQL_DSN", "is missing, though SECKILL_REDIS_ADDRS is set",
			dsnForm+"; or neither of them, for the embedded mode")
	case sql:
		ps.add("SECKILL_REDIS_ADDRS", "is missing, though SECKILL_MYSQL_DSN is set",
			"host:port; or neither of them, for the embedded mode")
	case c.Stores.Embedded == "never":
		const why = "is missing, and SECKILL_EMBEDDED=never rules the embedded mode out"
		ps.add("SECKILL_REDIS_ADDRS", why, "host:port")
		ps.add("SECKILL_MYSQL_DSN", why, dsnForm)
	default:
		if redisHint != "" {
			ps.add("SECKILL_REDIS_ADDRS", "is missing, though "+redisHint+" is set", "host:port")
		}
		if sqlHint != "" {
			ps.add("SECKILL_MYSQL_DSN", "is missing, though "+sqlHint+" is set", dsnForm)
		}
	}
	if c.Orders.Partitions > 1 && c.Embedded() {
		ps.add("SECKILL_PARTITIONS", fmt.Sprintf("is %d, but the embedded mode has one partition", c.Orders.Partitions),
			"1; or Redis and a database")
	}
	if c.Stores.DataDir == "" {
		ps.add("SECKILL_DATA_DIR", "is blank", "a directory")
	}
}

// firstSet returns the first setting with the prefix that has a value, or "".
func firstSet(vars map[string]string, prefix string) string {
	for _, s := range settings() {
		if strings.HasPrefix(s.name(), prefix) && vars[s.name()] != "" {
			return s.name()
		}
	}
	return ""
}

func checkRedis(c *Config, ps *problems) {
	r := &c.Redis
	for _, a := range r.Addrs {
		if host, port, ok := splitAddr(a); !ok || host == "" || port == 0 {
			ps.add("SECKILL_REDIS_ADDRS", fmt.Sprintf("has %q", a), "host:port, such as redis:6379")
		}
	}
	if strings.ContainsFunc(r.Prefix,
		func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`{}*?[]\`, c) }) || len(r.Prefix) > 64 {
		ps.add("SECKILL_REDIS_PREFIX", fmt.Sprintf("is %q", r.Prefix),
			`at most 64 printable ASCII characters, none of { } * ? [ ] \`)
	}
	checkRedisMode(r, ps)
	if r.CAFile != "" && !r.TLS {
		ps.add("SECKILL_REDIS_CA_FILE", "is set, but SECKILL_REDIS_TLS is not", "SECKILL_REDIS_TLS=true with it")
	}
	if r.Replicas > 0 && r.ReplicaTimeout >= r.Timeout {
		ps.add("SECKILL_REDIS_REPLICA_TIMEOUT", fmt.Sprintf("is %v, and SECKILL_REDIS_TIMEOUT is %v",
			r.ReplicaTimeout, r.Timeout), "less than SECKILL_REDIS_TIMEOUT")
	}
}

// checkRedisMode checks the settings that belong to some kinds of Redis only.
func checkRedisMode(r *Redis, ps *problems) {
	if r.Mode == "single" && len(r.Addrs) > 1 {
		ps.add("SECKILL_REDIS_ADDRS", fmt.Sprintf("has %d addresses, but SECKILL_REDIS_MODE is single", len(r.Addrs)),
			"one address, or another mode")
	}
	if r.Mode == "sentinel" && r.Master == "" {
		ps.add("SECKILL_REDIS_MASTER", "is missing, though SECKILL_REDIS_MODE is sentinel",
			"the name of the master that the sentinels watch")
	}
	if slices.Contains([]string{"single", "cluster"}, r.Mode) && r.Master != "" {
		ps.add("SECKILL_REDIS_MASTER", "is set, but SECKILL_REDIS_MODE is "+r.Mode,
			"SECKILL_REDIS_MODE=sentinel with it")
	}
	if r.Mode != "sentinel" && r.SentinelPassword != "" {
		ps.add("SECKILL_REDIS_SENTINEL_PASSWORD", "is set, but SECKILL_REDIS_MODE is "+r.Mode,
			"SECKILL_REDIS_MODE=sentinel with it")
	}
	if r.Mode == "cluster" && r.DB != 0 {
		ps.add("SECKILL_REDIS_DB", fmt.Sprintf("is %d, but SECKILL_REDIS_MODE is cluster", r.DB), "0")
	}
}

func checkMySQL(c *Config, ps *problems) {
	const name = "SECKILL_MYSQL_DSN"
	dsn := c.MySQL.DSN.Reveal()
	if dsn == "" {
		return
	}
	parsed, err := mysql.ParseDSN(dsn)
	switch {
	case strings.HasPrefix(dsn, "mysql://"):
		ps.add(name, "is a URL", dsnForm+", without mysql://")
	case err != nil:
		// The driver's error may quote part of the DSN, and so of the password.
		ps.add(name, "is not a data source name of go-sql-driver/mysql", dsnForm)
	case parsed.DBName == "":
		ps.add(name, "names no database", dsnForm)
	case c.MySQL.CAFile != "" && parsed.TLSConfig != "" && parsed.TLSConfig != "true":
		ps.add(name, fmt.Sprintf("has tls=%s, with which SECKILL_MYSQL_CA_FILE would check nothing", parsed.TLSConfig),
			"tls=true, or no tls at all")
	case parsed.ClientFoundRows:
		// With it, "affected rows" would count rows that were found but not changed, and every caller that checks
		// whether it made the change would be wrong.
		ps.add(name, "has clientFoundRows=true, with which orders cannot be recorded safely", "without clientFoundRows")
	}
}

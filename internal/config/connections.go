package config

import "fmt"

// reservedFiles are descriptors kept for everything but buyers' connections and the pools: the operations listener,
// callers that are being refused (128), blocking reads of Redis, connections to other nodes, and files.
const reservedFiles = 420

// checkConnections checks SECKILL_MAX_CONNECTIONS against the descriptors that remain after everything else. That
// number is also its default.
func checkConnections(vars map[string]string, c *Config, ps *problems, limit int) {
	const name, least = "SECKILL_MAX_CONNECTIONS", 10
	if ps.has(name) {
		return
	}
	reserved := reservedFiles + c.Redis.PoolSize + c.MySQL.PoolSize
	most := limit - reserved
	if most < least {
		ps.add(name, fmt.Sprintf("cannot be satisfied: the process may open %d files, and %d are kept for other things",
			limit, reserved),
			fmt.Sprintf("a limit of open files (ulimit -n) of %d or more", reserved+least))
		return
	}
	if vars[name] == "" {
		c.HTTP.MaxConnections = most
	}
	switch n := c.HTTP.MaxConnections; {
	case n < least:
		ps.add(name, fmt.Sprintf("is %d", n), fmt.Sprintf("%d to %d", least, most))
	case n > most:
		ps.add(name, fmt.Sprintf("is %d, but the process may open %d files, of which %d are kept for other things",
			n, limit, reserved),
			fmt.Sprintf("%d to %d, or a higher limit of open files (ulimit -n)", least, most))
	}
}

// Package inspect reads facts about the Redis servers of the partitions: settings that can lose orders, memory use, and
// whether a restart would be noticed. Package redisstore reads the facts about sales.
package inspect

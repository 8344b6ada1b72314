// Package inspect reads what the Redis servers of the partitions are: settings that can lose orders, memory, and
// whether a restart would be noticed. It knows no sales; a sale's facts are read by package redisstore.
package inspect

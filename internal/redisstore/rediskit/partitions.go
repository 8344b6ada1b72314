package rediskit

import "github.com/redis/go-redis/v9"

// Partitions is the Redis of partitions, as features have it: *redisstore.Store.
type Partitions interface {
	// In returns the client for keys of the partition. While the partition has data of another format or another
	// installation the client sends nothing, and every command is an order.ErrUnavailable.
	In(partition int) redis.UniversalClient
	// Key returns a key of the partition, in its slot of a cluster: rest is what the key ends with.
	Key(partition int, rest string) string
}

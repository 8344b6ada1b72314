package rediskit

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Partitions is the Redis of partitions, for features: *redisstore.Store.
type Partitions interface {
	// In returns the client for keys of the partition. While the partition has data of another format or another
	// installation, that client sends nothing, and every command returns an order.ErrUnavailable.
	In(partition int) redis.UniversalClient
	// Key returns a key of the partition, in its slot of a cluster; rest ends the key.
	Key(partition int, rest string) string
}

// CheckPrefix refuses a prefix that would change the keys' hash tag.
func CheckPrefix(prefix string) error {
	if strings.ContainsAny(prefix, "{}") {
		return fmt.Errorf("key prefix %q holds a brace, which would change the hash tag", prefix)
	}
	return nil
}

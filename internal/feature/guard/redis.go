package guard

import "seckill/internal/redisstore/rediskit"

// Redis is what all instances together know of guards: the counts of a sale, in its partition, and what callers have
// spent, in partition 0. Nothing of it is decided by, and a Redis that lost it all stops no sale.
type Redis struct {
	partitions          rediskit.Partitions
	addCounts, exchange rediskit.Script
}

// NewRedis returns it.
func NewRedis(partitions rediskit.Partitions) *Redis {
	return &Redis{
		partitions: partitions,
		addCounts:  rediskit.NewScript("add_guard_counts"), exchange: rediskit.NewScript("exchange_spending"),
	}
}

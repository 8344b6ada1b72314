package store

import "seckill/internal/redisstore/rediskit"

// Redis is what all instances share about guards: the counts of a sale, in its partition, and what callers have spent,
// in partition 0. Nothing is decided by the counts, and a Redis that lost everything stops no sale.
type Redis struct {
	partitions          rediskit.Partitions
	addCounts, exchange rediskit.Script
}

// NewRedis returns the guards' part of Redis.
func NewRedis(partitions rediskit.Partitions) *Redis {
	return &Redis{
		partitions: partitions,
		addCounts:  rediskit.NewScript("add_guard_counts"), exchange: rediskit.NewScript("exchange_spending"),
	}
}

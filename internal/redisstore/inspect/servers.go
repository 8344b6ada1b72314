package inspect

import (
	"context"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"seckill/internal/redisstore/rediskit"
)

// Servers are the Redis servers of the partitions. It is safe for concurrent use.
type Servers struct {
	client     redis.UniversalClient
	partitions rediskit.Partitions
	alone      bool
	log        *slog.Logger
}

// New returns the servers of the client; alone means that Redis runs inside this process (embedded mode). New makes no
// call.
func New(client redis.UniversalClient, partitions rediskit.Partitions, alone bool, log *slog.Logger) *Servers {
	return &Servers{client, partitions, alone, log}
}

func (s *Servers) node(ctx context.Context, partition int) (redis.UniversalClient, error) {
	return rediskit.Node(ctx, s.client, s.partitions.Key(partition, "inspected"))
}

// Memory is rediskit.Memory of the servers.
func (s *Servers) Memory(ctx context.Context) (used, limit int64, err error) {
	return rediskit.Memory(ctx, s.client)
}

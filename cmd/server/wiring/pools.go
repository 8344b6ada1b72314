package wiring

import (
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/httpapi"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/telemetry"
)

// Pools returns the use of the connections to the stores.
func (s *Stores) Pools() []telemetry.Pool {
	sql := s.Ledger.DB().Pool().Stats()
	return []telemetry.Pool{
		redisPool("redis", s.Clients.Commands.PoolStats()),
		redisPool("redis_blocking", s.Clients.Blocking.PoolStats()),
		{Name: "ledger", InUse: sql.InUse, Idle: sql.Idle, Waits: sql.WaitCount, Waited: sql.WaitDuration},
	}
}

func redisPool(name string, s *redis.PoolStats) telemetry.Pool {
	return telemetry.Pool{
		Name: name, InUse: int(s.TotalConns) - int(s.IdleConns), Idle: int(s.IdleConns),
		Waits: int64(s.WaitCount), Waited: time.Duration(s.WaitDurationNs), Timeouts: int64(s.Timeouts),
	}
}

// Bulkheads returns the use, by class of callers, of requests in flight, of connections to the stores, and of calls to
// payment providers.
func (s *Stores) Bulkheads(api *httpapi.API, providers func() []bulkhead.Load) func() map[string][]bulkhead.Load {
	return func() map[string][]bulkhead.Load {
		return map[string][]bulkhead.Load{
			"providers": providers(),
			"requests":  api.Load().Requests,
			"ledger":    s.Ledger.DB().Bulkhead().Loads(),
			"redis":     s.Clients.Permits(),
		}
	}
}

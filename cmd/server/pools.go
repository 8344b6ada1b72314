package main

import (
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/httpapi"
	"seckill/internal/kit/telemetry"
)

// pools returns how the connections to the stores are used.
func (s *stores) pools() []telemetry.Pool {
	sql := s.ledger.DB().Connections()
	return []telemetry.Pool{
		redisPool("redis", s.clients.Commands.PoolStats()),
		redisPool("redis_blocking", s.clients.Blocking.PoolStats()),
		{Name: "ledger", InUse: sql.InUse, Idle: sql.Idle, Waits: sql.WaitCount, Waited: sql.WaitDuration},
	}
}

func redisPool(name string, s *redis.PoolStats) telemetry.Pool {
	return telemetry.Pool{
		Name: name, InUse: int(s.TotalConns) - int(s.IdleConns), Idle: int(s.IdleConns),
		Waits: int64(s.WaitCount), Waited: time.Duration(s.WaitDurationNs), Timeouts: int64(s.Timeouts),
	}
}

// bulkheads returns how classes of callers share requests in flight and the connections to the stores.
func (s *stores) bulkheads(api *httpapi.API) func() []telemetry.Bulkhead {
	return func() []telemetry.Bulkhead {
		return []telemetry.Bulkhead{
			{Resource: "requests", Loads: api.Load().Requests},
			{Resource: "ledger", Loads: s.ledger.DB().Bulkhead().Loads()},
			{Resource: "redis", Loads: s.clients.Permits()},
		}
	}
}

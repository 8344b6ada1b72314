package durability

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	redis.SetLogger(rediskit.ClientLog{Log: slog.New(slog.DiscardHandler)}) // the servers are killed on purpose
	testkit.Main(m)
}

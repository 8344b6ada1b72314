package durability

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/redisstore"
	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	redis.SetLogger(redisstore.ClientLog{Log: slog.New(slog.DiscardHandler)}) // the servers are killed on purpose
	testkit.Main(m)
}

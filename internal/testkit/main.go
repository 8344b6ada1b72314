package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"seckill/internal/testkit/server"
)

// Main runs the package's tests, stops shared resources (atEnd and the servers), checks that no goroutine is left, and
// exits the process. Call it from TestMain.
func Main(m *testing.M, atEnd ...func() error) {
	code := m.Run()
	for _, stop := range atEnd {
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "testkit: after the tests:", err)
			code = max(code, 1)
		}
	}
	if err := sharedServers.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testkit: stop the shared servers:", err)
		code = max(code, 1)
	}
	// After a failed test, leaks are likely but not the cause.
	if code == 0 {
		if err := findLeaks(); err != nil {
			fmt.Fprintln(os.Stderr, "testkit: goroutines are left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leakPatience is how long goroutines may take to end by themselves after the tests: if a test leaves a lock, a
// goroutine watches it until its lease is over, and on a busy machine goroutines end late.
const leakPatience = time.Minute

// findLeaks returns the goroutines that are left once leakPatience is over.
func findLeaks() error {
	for patient := time.Now().Add(leakPatience); ; {
		if err := goleak.Find(); err == nil || time.Now().After(patient) {
			return err
		}
	}
}

// sharedServers are used by all tests of a package. They are package state because package testing cannot pass values
// from TestMain to tests.
var sharedServers shared //nolint:gochecknoglobals // see above

// shared starts each server at first use. If a start fails, every test fails at once with the same error.
type shared struct {
	redisOnce, mysqlOnce sync.Once
	redis                *server.Redis
	redisAddr            string
	redisErr             error
	mariadb              *server.MariaDB
	mysqlDSN             string
	mysqlErr             error
	schemas              schemaPool
}

// redisAddress returns the address of the shared Redis.
func (s *shared) redisAddress(ctx context.Context) (string, error) {
	s.redisOnce.Do(func() {
		if s.redisAddr = os.Getenv(server.EnvRedisAddr); s.redisAddr != "" {
			if err := server.PingRedis(ctx, s.redisAddr); err != nil {
				s.redisErr = fmt.Errorf("%s: %w", server.EnvRedisAddr, err)
			}
			return
		}
		if s.redis, s.redisErr = server.StartRedis(ctx); s.redisErr == nil {
			s.redisAddr = s.redis.Addr
		}
	})
	return s.redisAddr, s.redisErr
}

// mysqlServer returns the DSN of the shared MySQL, without a schema.
func (s *shared) mysqlServer(ctx context.Context) (string, error) {
	s.mysqlOnce.Do(func() {
		if s.mysqlDSN = os.Getenv(server.EnvMySQLDSN); s.mysqlDSN != "" {
			if err := server.PingMySQL(ctx, s.mysqlDSN); err != nil {
				s.mysqlErr = fmt.Errorf("%s: %w", server.EnvMySQLDSN, err)
			}
			return
		}
		if s.mariadb, s.mysqlErr = server.StartMariaDB(ctx); s.mysqlErr == nil {
			s.mysqlDSN = s.mariadb.DSN("")
		}
	})
	return s.mysqlDSN, s.mysqlErr
}

// stop stops the servers that were started here. It is called after all tests.
func (s *shared) stop() error {
	var err error
	if s.mariadb == nil { // otherwise they vanish with the server
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		err = s.schemas.drop(ctx)
	}
	if s.redis != nil {
		err = errors.Join(err, s.redis.Close())
	}
	if s.mariadb != nil {
		err = errors.Join(err, s.mariadb.Close())
	}
	return err
}

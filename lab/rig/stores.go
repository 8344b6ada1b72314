package rig

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
)

// Stores are the Redis and the database that all servers use, one after the other.
type Stores struct {
	RedisAddr string
	Redis     *redis.Client
	dsn       *mysql.Config
	db        *sql.DB
	before    map[string]string // Redis settings to restore
}

// EverySecond is Redis's usual appendfsync: the append-only file is flushed every second.
const EverySecond = "everysec"

// durability returns Redis's settings: an append-only file that is flushed every second. Rewriting that file during a
// measurement would slow one server down by chance, so it happens between them.
func durability() map[string]string {
	return map[string]string{
		"appendonly": "yes", "appendfsync": EverySecond, "auto-aof-rewrite-percentage": "0", "save": "",
	}
}

// OpenStores connects to the stores in SECKILL_TEST_REDIS_ADDR and SECKILL_TEST_MYSQL_DSN (test/services starts both)
// and sets Redis's durability until Close.
func OpenStores(ctx context.Context) (*Stores, error) {
	s := &Stores{RedisAddr: os.Getenv("SECKILL_TEST_REDIS_ADDR"), before: map[string]string{}}
	dsn := os.Getenv("SECKILL_TEST_MYSQL_DSN")
	if s.RedisAddr == "" || dsn == "" {
		return nil, errors.New("SECKILL_TEST_REDIS_ADDR and SECKILL_TEST_MYSQL_DSN are not both set; run it as: go " +
			"run ./test/services -- go run ./bench")
	}
	var err error
	if s.dsn, err = mysql.ParseDSN(dsn); err != nil {
		return nil, fmt.Errorf("SECKILL_TEST_MYSQL_DSN: %w", err)
	}
	if s.db, err = sql.Open("mysql", dsn); err != nil {
		return nil, err
	}
	s.Redis = redis.NewClient(&redis.Options{Addr: s.RedisAddr})
	for name, value := range durability() {
		got, err := s.Redis.ConfigGet(ctx, name).Result()
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		s.before[name] = got[name]
		if err = s.Redis.ConfigSet(ctx, name, value).Err(); err != nil {
			return nil, fmt.Errorf("redis: CONFIG SET %s: %w", name, err)
		}
	}
	if err := s.awaitIdle(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close restores Redis's settings and disconnects; it reports a setting that it cannot restore as progress.
func (s *Stores) Close(ctx context.Context, progress io.Writer) {
	for name, value := range s.before {
		if err := s.Redis.ConfigSet(ctx, name, value).Err(); err != nil {
			fmt.Fprintf(progress, "bench: redis keeps %s %s: %v\n", name, durability()[name], err)
		}
	}
	_ = s.Redis.Close() // nothing is in flight any more
	_ = s.db.Close()    // the same
}

// SetFsync sets Redis's appendfsync.
func (s *Stores) SetFsync(ctx context.Context, value string) error {
	if err := s.Redis.ConfigSet(ctx, "appendfsync", value).Err(); err != nil {
		return fmt.Errorf("redis: CONFIG SET appendfsync: %w", err)
	}
	return nil
}

// UsedMemory returns how many bytes Redis's data use. Redis's memory for clients and for the file on disk varies, and
// is not counted.
func (s *Stores) UsedMemory(ctx context.Context) (int64, error) {
	info, err := s.Redis.Info(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	var used int64
	for name, sign := range map[string]int64{"used_memory": 1, "mem_clients_normal": -1, "mem_aof_buffer": -1} {
		_, rest, found := strings.Cut(info, "\n"+name+":")
		text, _, _ := strings.Cut(rest, "\r")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !found {
			return 0, fmt.Errorf("redis: INFO memory has no %s", name)
		}
		used += sign * n
	}
	return used, nil
}

// Calls returns how often both stores have been called so far, by everybody: Redis's reads from connections, where a
// pipeline is one call and a script is one however much it does, and the database's statements.
func (s *Stores) Calls(ctx context.Context) (int64, error) {
	info, err := s.Redis.Info(ctx, "stats").Result()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	_, rest, _ := strings.Cut(info, "total_reads_processed:")
	text, _, _ := strings.Cut(rest, "\r")
	reads, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("redis: INFO stats has no total_reads_processed")
	}
	var name string
	var statements int64
	err = s.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &statements)
	return reads + statements, err
}

// awaitIdle waits until Redis does nothing in the background.
func (s *Stores) awaitIdle(ctx context.Context) error {
	for {
		info, err := s.Redis.Info(ctx, "persistence").Result()
		if err != nil {
			return fmt.Errorf("redis: %w", err)
		}
		if strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

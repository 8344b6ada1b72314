package main

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
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// stores are the Redis and the database that all contestants use, one after the other.
type stores struct {
	redisAddr string
	rdb       *redis.Client
	dsn       *mysql.Config
	db        *sql.DB
	before    map[string]string // Redis settings to put back
}

// everySecond is what most run Redis with: an append-only file, flushed every second.
const everySecond = "everysec"

// durability is how Redis keeps what it acknowledged: an append-only file, flushed every second. Rewriting that file in
// the middle of a turn would slow one contestant down by chance, so it is done between the turns.
func durability() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": everySecond, "auto-aof-rewrite-percentage": "0", "save": ""}
}

func openStores(ctx context.Context) (*stores, error) {
	s := &stores{redisAddr: os.Getenv("SECKILL_TEST_REDIS_ADDR"), before: map[string]string{}}
	dsn := os.Getenv("SECKILL_TEST_MYSQL_DSN")
	if s.redisAddr == "" || dsn == "" {
		return nil, errors.New("SECKILL_TEST_REDIS_ADDR and SECKILL_TEST_MYSQL_DSN are not both set; run it as: go run ./test/services -- go run ./bench")
	}
	var err error
	if s.dsn, err = mysql.ParseDSN(dsn); err != nil {
		return nil, fmt.Errorf("SECKILL_TEST_MYSQL_DSN: %w", err)
	}
	if s.db, err = sql.Open("mysql", dsn); err != nil {
		return nil, err
	}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.redisAddr})
	for name, value := range durability() {
		got, err := s.rdb.ConfigGet(ctx, name).Result()
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		s.before[name] = got[name]
		if err = s.rdb.ConfigSet(ctx, name, value).Err(); err != nil {
			return nil, fmt.Errorf("redis: CONFIG SET %s: %w", name, err)
		}
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// close puts Redis's settings back.
func (s *stores) close(ctx context.Context, progress io.Writer) {
	for name, value := range s.before {
		if err := s.rdb.ConfigSet(ctx, name, value).Err(); err != nil {
			fmt.Fprintf(progress, "bench: redis keeps %s %s: %v\n", name, durability()[name], err)
		}
	}
	_ = s.rdb.Close() // nothing is in flight any more
	_ = s.db.Close()  // the same
}

// setFsync sets Redis's durability for the next turn.
func (s *stores) setFsync(ctx context.Context, value string) error {
	if err := s.rdb.ConfigSet(ctx, "appendfsync", value).Err(); err != nil {
		return fmt.Errorf("redis: CONFIG SET appendfsync: %w", err)
	}
	return nil
}

// usedMemory is how many bytes Redis's data take. What it holds for clients and for the file on disk comes and goes, and
// is not counted.
func (s *stores) usedMemory(ctx context.Context) (int64, error) {
	info, err := s.rdb.Info(ctx, "memory").Result()
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

// bytesSince is what each of some orders takes in Redis's memory, given what there was before them.
func (s *stores) bytesSince(ctx context.Context, before, orders int64) (float64, error) {
	now, err := s.usedMemory(ctx)
	return float64(now-before) / float64(orders), err
}

// settle waits until Redis does nothing in the background.
func (s *stores) settle(ctx context.Context) error {
	for {
		info, err := s.rdb.Info(ctx, "persistence").Result()
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

// place is a turn's own part of the stores.
type place struct {
	stores *stores
	prefix string
	schema string
	dsn    string
	db     *sql.DB
}

// newPlace makes an empty schema and picks a prefix that nobody uses.
func (s *stores) newPlace(ctx context.Context) (*place, error) {
	name := "bench_" + strings.ReplaceAll(uuid.NewString()[:18], "-", "")
	if _, err := s.db.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return nil, err
	}
	dsn := s.dsn.Clone()
	dsn.DBName = name
	dsn.InterpolateParams = true
	db, err := sql.Open("mysql", dsn.FormatDSN())
	if err != nil {
		return nil, err
	}
	return &place{stores: s, prefix: name + ":", schema: name, dsn: dsn.FormatDSN(), db: db}, nil
}

// clear removes everything of the place, so that the next turn finds the stores as this one did.
func (p *place) clear(ctx context.Context) error {
	_ = p.db.Close() // only ever read
	if _, err := p.stores.db.ExecContext(ctx, "DROP DATABASE "+p.schema); err != nil {
		return err
	}
	var keys []string
	scan := p.stores.rdb.Scan(ctx, 0, p.prefix+"*", 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(keys) > 0 {
		if err := p.stores.rdb.Unlink(ctx, keys...).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	if err := p.stores.rdb.BgRewriteAOF(ctx).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return p.stores.settle(ctx)
}

// number reads one number from SQL.
func (p *place) number(ctx context.Context, query string) (n int64, err error) {
	err = p.db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// recorded returns how many orders are recorded, by what left the stock: one small read, however many there are.
func (p *place) recorded(ctx context.Context) (int64, error) {
	return p.number(ctx, "SELECT SUM(issued - stock) FROM tb_seckill_voucher")
}

// hashNumber reads a decimal field of a Redis hash; an absent one is 0.
func (p *place) hashNumber(ctx context.Context, key, field string) (int64, error) {
	text, err := p.stores.rdb.HGet(ctx, p.prefix+key, field).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	return strconv.ParseInt(text, 10, 64)
}

// hold locks the sale's row, so that nothing can be recorded, until the returned function is called.
func (p *place) hold(ctx context.Context) (release func() error, err error) {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var stock int64
	if err = tx.QueryRowContext(ctx, "SELECT stock FROM tb_seckill_voucher FOR UPDATE").Scan(&stock); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

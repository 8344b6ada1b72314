package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// stores are the Redis and the database that both builds use, one after the other.
type stores struct {
	redisAddr  string
	rdb        *redis.Client
	dsn        *mysql.Config
	db         *sql.DB
	before     map[string]string // Redis settings to put back
	redis, sql int               // process ids
}

// durability is how Redis keeps what it acknowledged: an append-only file, flushed every second. Rewriting the file in the
// middle of a round would slow one build down by chance, so it is done between the rounds.
func durability() map[string]string {
	return map[string]string{"appendonly": "yes", "appendfsync": "everysec", "auto-aof-rewrite-percentage": "0", "save": ""}
}

func openStores(ctx context.Context) (*stores, error) {
	s := &stores{redisAddr: os.Getenv("SECKILL_TEST_REDIS_ADDR"), before: map[string]string{}}
	dsn := os.Getenv("SECKILL_TEST_MYSQL_DSN")
	if s.redisAddr == "" || dsn == "" {
		return nil, errors.New("SECKILL_TEST_REDIS_ADDR and SECKILL_TEST_MYSQL_DSN are not both set; run it as: make bench-versus OLD=<commit>")
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
		if err := s.rdb.ConfigSet(ctx, name, value).Err(); err != nil {
			return nil, fmt.Errorf("redis: CONFIG SET %s: %w", name, err)
		}
	}
	if s.redis, err = strconv.Atoi(s.info(ctx, "server", "process_id")); err != nil {
		return nil, fmt.Errorf("redis's process: %w", err)
	}
	if s.sql, err = s.databaseProcess(ctx); err != nil {
		return nil, fmt.Errorf("the database's process: %w", err)
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// databaseProcess returns the id of the database's process. It must run on this machine: its processor time is measured.
func (s *stores) databaseProcess(ctx context.Context) (int, error) {
	var file string
	if err := s.db.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&file); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// info returns a line of Redis's INFO, "" if there is none.
func (s *stores) info(ctx context.Context, section, name string) string {
	text, err := s.rdb.Info(ctx, section).Result()
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// machine says on what the figures were taken.
func (s *stores) machine(ctx context.Context) string {
	var database string
	_ = s.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&database) // what cannot be told stays out
	return fmt.Sprintf("%s on %s/%s, %d processors, Redis %s (appendfsync everysec), database %s", runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), s.info(ctx, "server", "redis_version"), database)
}

// close puts Redis's settings back.
func (s *stores) close(ctx context.Context) (err error) {
	for name, value := range s.before {
		err = errors.Join(err, s.rdb.ConfigSet(ctx, name, value).Err())
	}
	return errors.Join(err, s.rdb.Close(), s.db.Close())
}

// settle waits until Redis does nothing in the background.
func (s *stores) settle(ctx context.Context) error {
	for s.info(ctx, "persistence", "aof_rewrite_in_progress") != "0" || s.info(ctx, "persistence", "aof_rewrite_scheduled") != "0" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// namespace is a process's own part of the stores.
type namespace struct {
	*stores
	prefix, schema, dsn string
	db                  *sql.DB // in the schema
}

// newNamespace makes an empty schema and picks a prefix that nobody uses.
func (s *stores) newNamespace(ctx context.Context) (*namespace, error) {
	name := "versus_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := s.db.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return nil, err
	}
	dsn := s.dsn.Clone()
	dsn.DBName = name
	db, err := sql.Open("mysql", dsn.FormatDSN())
	return &namespace{stores: s, prefix: name + ":", schema: name, dsn: dsn.FormatDSN(), db: db}, err
}

// clear removes everything of the namespace, so that the next round finds the stores as this one did.
func (p *namespace) clear(ctx context.Context) error {
	_ = p.db.Close() // only ever read
	if _, err := p.stores.db.ExecContext(ctx, "DROP DATABASE "+p.schema); err != nil {
		return err
	}
	var keys []string
	scan := p.rdb.Scan(ctx, 0, p.prefix+"*", 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(keys) > 0 {
		if err := p.rdb.Unlink(ctx, keys...).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	if err := p.rdb.BgRewriteAOF(ctx).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return p.settle(ctx)
}

// number reads one number from SQL.
func (p *namespace) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = p.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// awaitRecorded waits until so many orders of a sale are recorded, by what left its stock: one small read.
func (p *namespace) awaitRecorded(ctx context.Context, voucher, orders int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		n, err := p.number(ctx, "SELECT issued - stock FROM tb_seckill_voucher WHERE voucher_id = ?", voucher)
		switch {
		case err != nil:
			return fmt.Errorf("waiting for %d rows: %w", orders, err)
		case n == orders:
			return nil
		case n > orders:
			return fmt.Errorf("%d orders are recorded, %d were accepted", n, orders)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d orders are recorded: %w", n, orders, ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// lockSale keeps a sale's row locked, so that nothing of it can be recorded, until the returned function is called.
func (p *namespace) lockSale(ctx context.Context, voucher int64) (release func() error, err error) {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var stock int64
	if err := tx.QueryRowContext(ctx, "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE", voucher).Scan(&stock); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

package rig

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Namespace is one measurement's own part of the stores: a schema and a prefix of keys.
type Namespace struct {
	Stores *Stores
	Prefix string
	DB     *sql.DB // connections to the schema
	schema string
	dsn    string
}

// NewNamespace creates an empty schema and picks an unused prefix.
func (s *Stores) NewNamespace(ctx context.Context) (*Namespace, error) {
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
	return &Namespace{Stores: s, Prefix: name + ":", DB: db, schema: name, dsn: dsn.FormatDSN()}, nil
}

// Clear removes everything in the namespace, so that the next measurement starts like this one.
func (n *Namespace) Clear(ctx context.Context) error {
	_ = n.DB.Close() // everything that was written is committed
	if _, err := n.Stores.db.ExecContext(ctx, "DROP DATABASE "+n.schema); err != nil {
		return err
	}
	var keys []string
	scan := n.Stores.Redis.Scan(ctx, 0, n.Prefix+"*", 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(keys) > 0 {
		if err := n.Stores.Redis.Unlink(ctx, keys...).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	if err := n.Stores.Redis.BgRewriteAOF(ctx).Err(); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return n.Stores.awaitIdle(ctx)
}

// Number reads one number from SQL.
func (n *Namespace) Number(ctx context.Context, query string, args ...any) (number int64, err error) {
	err = n.DB.QueryRowContext(ctx, query, args...).Scan(&number)
	return number, err
}

// Recorded returns how many orders are recorded, by how much the stock has fallen: one small read, however many there
// are.
func (n *Namespace) Recorded(ctx context.Context) (int64, error) {
	return n.Number(ctx, "SELECT SUM(issued - stock) FROM tb_seckill_voucher")
}

// AwaitRecorded waits, for two minutes at most, until that many orders are recorded.
func (n *Namespace) AwaitRecorded(ctx context.Context, orders int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		now, err := n.Recorded(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("waiting for %d rows: %w", orders, err)
		case now == orders:
			return nil
		case now > orders:
			return fmt.Errorf("%d orders are recorded, %d were accepted", now, orders)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d orders recorded: %w", now, orders, ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// HashNumber reads a decimal field of a Redis hash; an absent one is 0.
func (n *Namespace) HashNumber(ctx context.Context, key, field string) (int64, error) {
	text, err := n.Stores.Redis.HGet(ctx, n.Prefix+key, field).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	return strconv.ParseInt(text, 10, 64)
}

// StreamLength returns the number of entries of a stream in Redis.
func (n *Namespace) StreamLength(ctx context.Context, key string) (int64, error) {
	length, err := n.Stores.Redis.XLen(ctx, n.Prefix+key).Result()
	if err != nil {
		return 0, fmt.Errorf("redis: %w", err)
	}
	return length, nil
}

// WaitingOrders returns how many orders are in a stream of the service, whose entries may have several.
func (n *Namespace) WaitingOrders(ctx context.Context, key string) (orders int64, err error) {
	const page = 5000
	for after := "-"; ; {
		entries, err := n.Stores.Redis.XRangeN(ctx, n.Prefix+key, after, "+", page).Result()
		if err != nil {
			return 0, fmt.Errorf("redis: %w", err)
		}
		for _, e := range entries {
			packed, _ := e.Values["p"].(string)
			orders += max(1, int64(len(strings.Fields(packed))/2))
			after = "(" + e.ID
		}
		if len(entries) < page {
			return orders, nil
		}
	}
}

// LockSale locks the sale's row, so that nothing can be recorded, until release is called.
func (n *Namespace) LockSale(ctx context.Context) (release func() error, err error) {
	tx, err := n.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var stock int64
	if err = tx.QueryRowContext(ctx, "SELECT stock FROM tb_seckill_voucher FOR UPDATE").Scan(&stock); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx.Rollback, nil
}

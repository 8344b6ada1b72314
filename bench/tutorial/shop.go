package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

//go:embed seckill.lua
var script string

var admission = redis.NewScript(script)

const (
	voucherID = 1
	group     = "g1"
	consumer  = "c1"
)

// shop is the whole baseline: its admission and its consumer.
type shop struct {
	rdb    *redis.Client
	db     *sql.DB
	prefix string
}

func (s *shop) stockKey() string  { return s.prefix + "seckill:stock:1" }
func (s *shop) buyersKey() string { return s.prefix + "seckill:order:1" }
func (s *shop) streamKey() string { return s.prefix + "stream.orders" }

// prepare makes the tables and puts the stock into Redis.
func (s *shop) prepare(ctx context.Context, stock int64) error {
	for _, statement := range []string{
		`CREATE TABLE tb_seckill_voucher (
			voucher_id BIGINT PRIMARY KEY, stock BIGINT NOT NULL, issued BIGINT NOT NULL) ENGINE=InnoDB`,
		`CREATE TABLE tb_voucher_order (
			id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, voucher_id BIGINT NOT NULL, status TINYINT NOT NULL DEFAULT 1,
			create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
			UNIQUE KEY uk_user_voucher (user_id, voucher_id)) ENGINE=InnoDB`,
		fmt.Sprintf("INSERT INTO tb_seckill_voucher VALUES (%d, %d, %d)", voucherID, stock, stock),
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := s.rdb.Set(ctx, s.stockKey(), stock, 0).Err(); err != nil {
		return err
	}
	return s.rdb.XGroupCreateMkStream(ctx, s.streamKey(), group, "0").Err()
}

// Buy takes an id from Redis, then asks the script: two round trips for every request.
func (s *shop) Buy(ctx context.Context, userID, voucher int64, _ time.Duration) (order.Order, error) {
	now := time.Now().UTC()
	count, err := s.rdb.Incr(ctx, s.prefix+"icr:order:"+now.Format("2006:01:02")).Result()
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnknownOutcome, err)
	}
	const epoch2022 = 1640995200
	id := (now.Unix()-epoch2022)<<32 | count
	code, err := admission.Run(ctx, s.rdb, []string{s.stockKey(), s.buyersKey(), s.streamKey()}, voucher, userID, id).Int()
	switch {
	case err != nil:
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnknownOutcome, err)
	case code == 1:
		return order.Order{}, order.ErrSoldOut
	case code == 2:
		return order.Order{}, &order.AlreadyBoughtError{Status: order.StatusUnknown}
	}
	return order.Order{ID: id, UserID: userID, VoucherID: voucher, Status: order.Queued}, nil
}

// consume records one order after the other until ctx ends.
func (s *shop) consume(ctx context.Context) error {
	for ctx.Err() == nil {
		streams, err := s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: consumer, Streams: []string{s.streamKey(), ">"}, Count: 1, Block: 200 * time.Millisecond,
		}).Result()
		switch {
		case ctx.Err() != nil || errors.Is(err, redis.Nil):
			continue // the end came, or nothing did
		case err != nil:
			return fmt.Errorf("reading the stream: %w", err)
		case len(streams) == 0 || len(streams[0].Messages) == 0:
			continue
		}
		m := streams[0].Messages[0]
		// What was read is finished: only whole steps are counted.
		if err := s.record(context.WithoutCancel(ctx), m); err != nil {
			return fmt.Errorf("recording %v: %w", m.Values, err)
		}
	}
	return nil
}

// record writes one order in one transaction and acknowledges it.
func (s *shop) record(ctx context.Context, m redis.XMessage) error {
	var ids [3]int64
	for i, field := range []string{"id", "userId", "voucherId"} {
		text, _ := m.Values[field].(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		ids[i] = n
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	var bought int
	if err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ? AND voucher_id = ?", ids[1], ids[2]).Scan(&bought); err != nil {
		return err
	}
	if bought > 0 {
		return fmt.Errorf("user %d has an order", ids[1])
	}
	if _, err = tx.ExecContext(ctx, "UPDATE tb_seckill_voucher SET stock = stock - 1 WHERE voucher_id = ? AND stock > 0", ids[2]); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO tb_voucher_order (id, user_id, voucher_id) VALUES (?, ?, ?)", ids[0], ids[1], ids[2]); err != nil {
		return err
	}
	if err = tx.Commit(); err != nil {
		return err
	}
	return s.rdb.XAck(ctx, s.streamKey(), group, m.ID).Err()
}

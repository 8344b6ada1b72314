package stages

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
)

const (
	voucherID = 1
	poolSize  = 64 // connections to the database, kept open
)

// shop is what all stages share: the stores, the tables, the ids.
type shop struct {
	rdb    *redis.Client
	db     *sql.DB
	prefix string
}

// purchase is an order on its way into the table.
type purchase struct{ id, user, voucher int64 }

// order returns the answer to the buyer.
func (p purchase) order() order.Order {
	return order.Order{ID: p.id, UserID: p.user, VoucherID: p.voucher, Status: order.Queued}
}

func (s *shop) stockKey() string  { return s.prefix + "seckill:stock:1" }
func (s *shop) buyersKey() string { return s.prefix + "seckill:order:1" }

// prepare creates the tables and writes the stock into Redis. With unique, one order per user is a unique key too, as
// in the tutorials where only a queue's writer records; stages without a queue have none.
func (s *shop) prepare(ctx context.Context, stock int64, unique bool) error {
	key := "KEY"
	if unique {
		key = "UNIQUE KEY"
	}
	for _, statement := range []string{
		`CREATE TABLE tb_seckill_voucher (
			voucher_id BIGINT PRIMARY KEY, stock BIGINT NOT NULL, issued BIGINT NOT NULL) ENGINE=InnoDB`,
		`CREATE TABLE tb_voucher_order (
			id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, voucher_id BIGINT NOT NULL,
			status TINYINT NOT NULL DEFAULT 1,
			create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, ` + key +
			` k_user (user_id, voucher_id)) ENGINE=InnoDB`,
		fmt.Sprintf("INSERT INTO tb_seckill_voucher VALUES (%d, %d, %d)", voucherID, stock, stock),
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return s.rdb.Set(ctx, s.stockKey(), stock, 0).Err()
}

// nextID counts the day's orders in Redis, as the tutorials do: one round trip per id.
func (s *shop) nextID(ctx context.Context) (int64, error) {
	now := time.Now().UTC()
	count, err := s.rdb.Incr(ctx, s.prefix+"icr:order:"+now.Format("2006:01:02")).Result()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	const epoch2022 = 1640995200
	return (now.Unix()-epoch2022)<<32 | count, nil
}

// record writes one queued order in one transaction.
func (s *shop) record(ctx context.Context, p purchase) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		var bought int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ? AND voucher_id = ?",
			p.user, p.voucher).Scan(&bought); err != nil {
			return err
		}
		if bought > 0 {
			return nil // delivered again after a crash
		}
		if _, err := tx.ExecContext(ctx, "UPDATE tb_seckill_voucher SET stock = stock - 1 WHERE voucher_id = ? AND "+
			"stock > 0", p.voucher); err != nil {
			return err
		}
		return s.insert(ctx, tx, p)
	})
}

func (s *shop) insert(ctx context.Context, tx *sql.Tx, p purchase) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO tb_voucher_order (id, user_id, voucher_id) VALUES (?, ?, ?)",
		p.id, p.user, p.voucher)
	return err
}

func (s *shop) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if err = do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

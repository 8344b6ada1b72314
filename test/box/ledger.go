package box

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"seckill/internal/checker"
)

// Ledger is the service's SQL as the tests read it: the same tables in MySQL and in the embedded file.
type Ledger struct{ DB *sql.DB }

// OpenLedger opens the SQL behind the servers for reading. It is closed when the test ends.
func OpenLedger(tb testing.TB, driver, dsn string) Ledger {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatalf("opening the ledger: %v", err)
	}
	tb.Cleanup(func() { _ = db.Close() }) // it was only read from
	return Ledger{db}
}

// Orders returns all rows of a voucher.
func (l Ledger) Orders(ctx context.Context, voucher int64) (rows []checker.Order, err error) {
	rs, err := l.DB.QueryContext(ctx,
		"SELECT id, user_id, voucher_id, status, COALESCE(reason, ''), quantity FROM tb_voucher_order WHERE "+
			"voucher_id = ?", voucher)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer func() { _ = rs.Close() }() // rs.Err reports the error
	for rs.Next() {
		var r checker.Order
		if err = rs.Scan(&r.ID, &r.User, &r.Voucher, &r.Status, &r.Reason, &r.Units); err != nil {
			return nil, fmt.Errorf("reading an order: %w", err)
		}
		rows = append(rows, r)
	}
	return rows, rs.Err()
}

// Kept returns how many units of a sale are kept for those who wait.
func (l Ledger) Kept(ctx context.Context, voucher int64) (kept int64, err error) {
	err = l.DB.QueryRowContext(ctx, "SELECT kept FROM tb_seckill_voucher WHERE voucher_id = ?",
		voucher).Scan(&kept)
	return kept, err
}

// Vouchers returns how many vouchers there are.
func (l Ledger) Vouchers(ctx context.Context) (n int64, err error) {
	err = l.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_voucher").Scan(&n)
	return n, err
}

// Sale returns how many units of a sale are left and how many were issued.
func (l Ledger) Sale(ctx context.Context, voucher int64) (stock, issued int64, err error) {
	err = l.DB.QueryRowContext(ctx,
		"SELECT stock, issued FROM tb_seckill_voucher WHERE voucher_id = ?", voucher).Scan(&stock, &issued)
	if err != nil {
		return 0, 0, fmt.Errorf("reading sale %d: %w", voucher, err)
	}
	return stock, issued, nil
}

// Partition returns which partition a sale is in.
func (l Ledger) Partition(ctx context.Context, voucher int64) (n int, err error) {
	err = l.DB.QueryRowContext(ctx, "SELECT partition_no FROM tb_seckill_voucher WHERE voucher_id = ?",
		voucher).Scan(&n)
	return n, err
}

// Epoch returns how often a sale was built in Redis.
func (l Ledger) Epoch(ctx context.Context, voucher int64) (n int64, err error) {
	err = l.DB.QueryRowContext(ctx, "SELECT epoch FROM tb_seckill_voucher WHERE voucher_id = ?", voucher).Scan(&n)
	return n, err
}

// LockSale locks a sale's row, so that none of its orders can be recorded, until release is called or the test ends.
// MySQL only: the tests open the embedded file read-only.
func (l Ledger) LockSale(tb testing.TB, voucher int64) (release func()) {
	tb.Helper()
	tx, err := l.DB.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatalf("locking sale %d: %v", voucher, err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() }) // does nothing after release
	var stock int64
	if err = tx.QueryRowContext(tb.Context(), "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE",
		voucher).Scan(&stock); err != nil {
		tb.Fatalf("locking sale %d: %v", voucher, err)
	}
	return func() {
		tb.Helper()
		if err := tx.Rollback(); err != nil {
			tb.Fatalf("unlocking sale %d: %v", voucher, err)
		}
	}
}

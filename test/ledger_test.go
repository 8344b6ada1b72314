package test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"seckill/internal/checker"
)

// ledger is the service's SQL as the tests read it: the same tables in MySQL and in the embedded file.
type ledger struct{ db *sql.DB }

// orders returns all rows of a voucher.
func (l ledger) orders(ctx context.Context, voucher int64) (rows []checker.Order, err error) {
	rs, err := l.db.QueryContext(ctx,
		"SELECT id, user_id, voucher_id, status, COALESCE(reason, '') FROM tb_voucher_order WHERE voucher_id = ?", voucher)
	if err != nil {
		return nil, fmt.Errorf("reading orders: %w", err)
	}
	defer func() { _ = rs.Close() }() // rs.Err is what tells
	for rs.Next() {
		var r checker.Order
		if err = rs.Scan(&r.ID, &r.User, &r.Voucher, &r.Status, &r.Reason); err != nil {
			return nil, fmt.Errorf("reading an order: %w", err)
		}
		rows = append(rows, r)
	}
	return rows, rs.Err()
}

// vouchers returns how many vouchers there are.
func (l ledger) vouchers(ctx context.Context) (n int64, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM tb_voucher").Scan(&n)
	return n, err
}

// sale returns what is left of a sale and how much was issued in all.
func (l ledger) sale(ctx context.Context, voucher int64) (stock, issued int64, err error) {
	err = l.db.QueryRowContext(ctx,
		"SELECT stock, issued FROM tb_seckill_voucher WHERE voucher_id = ?", voucher).Scan(&stock, &issued)
	if err != nil {
		return 0, 0, fmt.Errorf("reading sale %d: %w", voucher, err)
	}
	return stock, issued, nil
}

// epoch returns how often a sale was built in Redis.
func (l ledger) epoch(ctx context.Context, voucher int64) (n int64, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT epoch FROM tb_seckill_voucher WHERE voucher_id = ?", voucher).Scan(&n)
	return n, err
}

// hold keeps a sale's row locked, so that nothing of it can be recorded, until the returned function is called, or the
// test ends. MySQL only: the embedded file is read-only to the tests.
func (l ledger) hold(tb testing.TB, voucher int64) (release func()) {
	tb.Helper()
	tx, err := l.db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatalf("holding sale %d: %v", voucher, err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() }) // after release it has nothing to do
	var stock int64
	if err = tx.QueryRowContext(tb.Context(), "SELECT stock FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE", voucher).Scan(&stock); err != nil {
		tb.Fatalf("holding sale %d: %v", voucher, err)
	}
	return func() {
		tb.Helper()
		if err := tx.Rollback(); err != nil {
			tb.Fatalf("releasing sale %d: %v", voucher, err)
		}
	}
}

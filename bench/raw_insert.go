package main

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// rawBatch is as many rows as the service's recorder writes in one transaction.
const rawBatch = 500

// rawInsert measures the limit of the recording side: the service's own tables and columns, written by database/sql in
// batches of one statement and one transaction each, with nothing read and nothing decided.
func rawInsert(ctx context.Context, b binaries, at *place, p plan) (turn, error) {
	migrate := exec.CommandContext(ctx, b.path("server"), "migrate")
	migrate.Env = append(migrate.Environ(), service{b, issued}.settings(at)...)
	if out, err := migrate.CombinedOutput(); err != nil {
		return turn{}, fmt.Errorf("migrating: %w\n%s", err, out)
	}
	if _, err := at.db.ExecContext(ctx, "INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time) "+
		"VALUES (1, ?, ?, '2026-01-01', '2036-01-01')", issued, issued); err != nil {
		return turn{}, err
	}
	statement := "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time) VALUES " +
		strings.TrimSuffix(strings.Repeat("(?,?,1,1,1000,1,?),", rawBatch), ",")
	var rows int64
	began := time.Now()
	for time.Since(began) < p.duration {
		if err := rawInsertBatch(ctx, at.db, statement, rows); err != nil {
			return turn{}, err
		}
		rows += rawBatch
	}
	return turn{Contestant: rawInsertName, Draining: float64(rows) / time.Since(began).Seconds()}, nil
}

func rawInsertBatch(ctx context.Context, db *sql.DB, statement string, first int64) error {
	now := time.Now().UTC()
	args := make([]any, 0, 3*rawBatch)
	for i := first; i < first+rawBatch; i++ {
		args = append(args, now.Unix()<<32|i, 1+i, now)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if _, err = tx.ExecContext(ctx, statement, args...); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "UPDATE tb_seckill_voucher SET stock = stock - ? WHERE voucher_id = 1", rawBatch); err != nil {
		return err
	}
	return tx.Commit()
}

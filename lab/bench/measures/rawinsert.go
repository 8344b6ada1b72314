package measures

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

// rawBatch is how many rows the service's recorder writes in one transaction.
const rawBatch = 500

// rawInsert measures the limit of recording: database/sql writes the service's own tables and columns, in batches of
// one statement and one transaction each, without reading or deciding anything.
func rawInsert(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
	if err = r.service().Migrate(ctx, at); err != nil {
		return t, err
	}
	if _, err = at.DB.ExecContext(ctx,
		"INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time) "+
			"VALUES (1, ?, ?, '2026-01-01', '2036-01-01')", rig.Unlimited, rig.Unlimited); err != nil {
		return t, err
	}
	var rows int64
	processes := r.stores.Processes(ctx, nil)
	before := processes.Time()
	began := time.Now()
	for time.Since(began) < r.plan.Duration {
		if err = insertOrders(ctx, at.DB, 1, rows, rawBatch); err != nil {
			return t, err
		}
		rows += rawBatch
	}
	t.Figures = map[result.Name]float64{result.RecordedDraining: float64(rows) / time.Since(began).Seconds()}
	addTime(t.Figures, processes.Since(before), rows)
	return t, nil
}

// insertOrders writes n orders of a voucher in one transaction, of the users first+1, first+2, …
func insertOrders(ctx context.Context, db *sql.DB, voucher, first, n int64) error {
	statement := "INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time) VALUES " +
		strings.TrimSuffix(strings.Repeat("(?,?,?,1,1000,1,?),", int(n)), ",")
	const epoch2022 = 1640995200
	now := time.Now().UTC()
	yesterday := now.Unix() - epoch2022 - 24*60*60 // in the ids: far from those that the service gives out today
	args := make([]any, 0, 4*n)
	for i := first; i < first+n; i++ {
		args = append(args, yesterday<<32|i, 1+i, voucher, now)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if _, err = tx.ExecContext(ctx, statement, args...); err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "UPDATE tb_seckill_voucher SET stock = stock - ? WHERE voucher_id = ?",
		n, voucher); err != nil {
		return err
	}
	return tx.Commit()
}

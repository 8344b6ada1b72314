package measures

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
	"seckill/scripts"
)

// tokenHMAC measures one HMAC-SHA256 over the signed part of a token, in this process and with a reused state: no check
// of a token can cost less.
func tokenHMAC(ctx context.Context, r *round, _ *rig.Namespace) (t result.Trial, err error) {
	mac := hmac.New(sha256.New, []byte("as long as the secrets that sign"))
	sum := make([]byte, 0, sha256.Size)
	var signed [][]byte
	for _, token := range r.users[:min(len(r.users), 1000)] {
		signed = append(signed, []byte(token[:strings.LastIndexByte(token, '.')]))
	}
	var n int64
	processes := r.stores.Processes(ctx, nil)
	before := processes.Time()
	for began := time.Now(); time.Since(began) < r.plan.Duration/4; n += int64(len(signed)) {
		for _, text := range signed {
			mac.Reset()
			_, _ = mac.Write(text) // a hash never fails
			sum = mac.Sum(sum[:0])
		}
	}
	t.Figures = map[result.Name]float64{}
	addTime(t.Figures, processes.Since(before), n)
	return t, nil
}

const (
	rawConnections = 8
	rawPipeline    = 128 // buyers sent in one write, whether in one call each or all in one
)

// rawScript measures the limit of admission: the service's own script on a sale that the service has opened, called as
// fast as Redis answers, with that many buyers per call.
func rawScript(buyers int64) measurement {
	return func(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
		server, err := r.service().Start(ctx, at, rig.Unlimited)
		if err != nil {
			return t, err
		}
		if err = server.Stop(); err != nil { // the sale stays in Redis, and nothing is recorded
			return t, err
		}
		keys := []string{
			at.Prefix + "{p0}:orders",
			fmt.Sprintf("%s{p0}:sale:%d", at.Prefix, server.Voucher), fmt.Sprintf("%s{p0}:buyers:%d",
				at.Prefix, server.Voucher),
		}
		rdb := redis.NewClient(&redis.Options{Addr: r.stores.RedisAddr, PoolSize: rawConnections, MaxRetries: -1})
		defer func() { _ = rdb.Close() }() // nothing is in flight any more
		var group errgroup.Group
		var accepted [rawConnections]int64
		processes := r.stores.Processes(ctx, nil)
		before, began := processes.Time(), time.Now()
		for c := range int64(rawConnections) {
			group.Go(func() (err error) {
				const each = 1_000_000_000 // users of one connection
				for err == nil && time.Since(began) < r.plan.Duration/2 {
					err = admitRaw(ctx, rdb, keys, server.Voucher, 1+c*each+accepted[c], buyers)
					accepted[c] += rawPipeline
				}
				return err
			})
		}
		if err = group.Wait(); err != nil {
			return t, err
		}
		passed := time.Since(began)
		var all int64
		for _, n := range accepted {
			all += n
		}
		t.Figures = map[result.Name]float64{result.Rate: float64(all) / passed.Seconds()}
		addTime(t.Figures, processes.Since(before), all)
		return t, audit.RawScript(ctx, at, server, all)
	}
}

// admitRaw admits the next users in one write of calls with that many buyers each.
func admitRaw(ctx context.Context, rdb *redis.Client, keys []string, voucher, first, buyers int64) error {
	script := redis.NewScript(scripts.Source("seckill"))
	pipe := rdb.Pipeline()
	for user := first; user < first+rawPipeline; user += buyers {
		args := []any{voucher, 0, 0, 1_000_000_000, buyers, "", ""}
		for i := range buyers {
			args = append(args, user+i, (user+i)<<20) // as many digits as an order id
		}
		script.EvalSha(ctx, pipe, keys, args...)
	}
	answers, err := pipe.Exec(ctx)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = script.Load(ctx, rdb).Err(); err == nil {
			return admitRaw(ctx, rdb, keys, voucher, first, buyers)
		}
	}
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	for _, a := range answers {
		sales, err := a.(*redis.Cmd).Slice()
		if err != nil || len(sales) != 1 {
			return fmt.Errorf("unexpected answer %v of the script: %w", sales, err)
		}
		if answer, ok := sales[0].([]any); !ok || len(answer) < 9 {
			return fmt.Errorf("unexpected answer %v of the script", sales[0])
		}
	}
	return nil
}

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

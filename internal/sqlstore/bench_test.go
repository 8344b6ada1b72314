package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// BenchmarkInsert records batches of 500 orders through the store and, beside it, the same rows with database/sql
// alone: a multi-row INSERT and the stock's UPDATE in one transaction. Compare the two of one run.
func BenchmarkInsert(b *testing.B) {
	const batch = 500
	for name, open := range map[string]func(*testing.B) ledger{
		"mysql": func(b *testing.B) ledger {
			return openMySQL(b, ledgertest.MigratedMySQL(b)+"&interpolateParams=true")
		},
		"sqlite": func(b *testing.B) ledger { return openSQLite(b, ledgertest.MigratedSQLite(b)) },
	} {
		for kind, record := range map[string]func(*testing.B, ledger, []order.Claim){
			"store": func(b *testing.B, l ledger, cs []order.Claim) { l.Record(b, cs) },
			"raw":   rawInsert,
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				l := open(b)
				v := l.Seckill(b, 100_000_000)
				user := int64(1)
				for b.Loop() {
					record(b, l, ledgertest.Claims(v, user, batch))
					user += batch
				}
				b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "orders/s")
			})
		}
	}
}

// BenchmarkExpireDue expires a backlog of overdue orders of one voucher, in batches of several sizes.
func BenchmarkExpireDue(b *testing.B) {
	const backlog = 50_000
	for name, open := range map[string]func(*testing.B) ledger{
		"mysql": func(b *testing.B) ledger {
			return openMySQL(b, ledgertest.MigratedMySQL(b)+"&interpolateParams=true")
		},
		"sqlite": func(b *testing.B) ledger { return openSQLite(b, ledgertest.MigratedSQLite(b)) },
	} {
		for _, batch := range []int{100, 200, 500} {
			b.Run(fmt.Sprintf("%s/%d", name, batch), func(b *testing.B) {
				l := open(b)
				v := l.Seckill(b, 100_000_000)
				user, left := int64(1), 0
				for b.Loop() {
					if left < batch {
						b.StopTimer()
						for range backlog / 500 {
							l.Record(b, ledgertest.Claims(v, user, 500))
							user += 500
						}
						l.Exec(b, "UPDATE tb_voucher_order SET pay_deadline = ? WHERE status = 1",
							ledgertest.Stored(ledgertest.RecordedAt.Add(-time.Minute)))
						left += backlog
						b.StartTimer()
					}
					expired, err := l.ExpireDue(b.Context(), 1, batch)
					if err != nil || len(expired) != batch {
						b.Fatalf("%d expired, %v", len(expired), err)
					}
					left -= batch
				}
				b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "orders/s")
			})
		}
	}
}

func rawInsert(b *testing.B, l ledger, cs []order.Claim) {
	b.Helper()
	tx, err := l.Raw.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // unless committed
	args := make([]any, 0, 6*len(cs))
	for _, c := range cs {
		args = append(args, c.OrderID, c.UserID, c.VoucherID, 1000, ledgertest.Stored(ledgertest.RecordedAt),
			ledgertest.Stored(ledgertest.PayBefore))
	}
	_, err = tx.ExecContext(b.Context(),
		"INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, status, create_time, "+
			"pay_deadline) VALUES "+
			strings.TrimSuffix(strings.Repeat("(?,?,?,1,?,1,?,?),", len(cs)), ","), args...)
	if err != nil {
		b.Fatal(err)
	}
	_, err = tx.ExecContext(b.Context(),
		"UPDATE tb_seckill_voucher SET stock = stock - ? WHERE voucher_id = ? AND stock >= ?",
		len(cs), cs[0].VoucherID, len(cs))
	if err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

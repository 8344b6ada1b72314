package test

import (
	"fmt"
	"testing"
	"time"
)

// TestReconcile: with nobody serving, what is wrong is found, what can be proved is mended, and the exit code says so.
func TestReconcile(t *testing.T) {
	t.Parallel()
	s := realSite(t, 1)
	s.says(t, 0, []string{"no sale"}, "reconcile")
	c := s.crowd(s.createSale(t, 10, time.Now().Add(time.Hour)))
	other := s.createSale(t, 5, time.Now().Add(time.Hour))
	c.rush(t.Context(), 4, people(1, 4))
	s.check(t, c, 10)
	if code, err := s.servers[0].terminate(); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	ours := []string{"-voucher", fmt.Sprint(c.voucher)}
	reconcile := func(code int, words []string, args ...string) {
		t.Helper()
		s.says(t, code, words, append([]string{"reconcile"}, args...)...)
	}
	exec := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reconcile(0, []string{"balanced"})

	exec(s.live.rdb.HIncrBy(t.Context(), s.live.saleKey(c.voucher), "stock", 3).Err())
	reconcile(3, []string{"redis_wrong", "+3"})
	reconcile(0, []string{"balanced"}, "-voucher", fmt.Sprint(other))
	reconcile(0, []string{"rebuilt", "balanced"}, append(ours, "-repair")...)

	// An accepted order of which only its place tells.
	exec(s.live.rdb.HIncrBy(t.Context(), s.live.saleKey(c.voucher), "stock", -1).Err())
	exec(s.live.rdb.HSet(t.Context(), s.live.buyersKey(c.voucher), "77", "4242").Err())
	reconcile(3, []string{"orders_lost"})
	reconcile(0, []string{"rebuilt", "1 orders are lost", "balanced"}, "-repair")

	// The ledger has less than it should: nobody can prove which number is wrong.
	_, err := s.ledger.db.ExecContext(t.Context(), "UPDATE tb_seckill_voucher SET stock = stock - 2 WHERE voucher_id = ?", c.voucher)
	exec(err)
	reconcile(3, []string{"ledger_short", "-2"})
	reconcile(3, []string{"ledger_short", "-2"}, "-repair") // and Redis follows the ledger
	_, err = s.ledger.db.ExecContext(t.Context(), "UPDATE tb_seckill_voucher SET issued = issued - 2 WHERE voucher_id = ?", c.voucher)
	exec(err)
	reconcile(0, []string{"balanced"})
	reconcile(1, []string{"no voucher 4711"}, "-voucher", "4711")

	exec(s.servers[0].start())
	eventually(t, "the lost order's row", func() error {
		rows, err := s.ledger.orders(t.Context(), c.voucher)
		if err == nil && len(rows) != 5 {
			err = fmt.Errorf("%d orders", len(rows))
		}
		return err
	})
	reconcile(0, []string{"balanced"})
}

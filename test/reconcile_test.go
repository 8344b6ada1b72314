package test

import (
	"fmt"
	"testing"
	"time"

	"seckill/test/box"
)

// TestReconcile checks that, while no server runs, the command finds errors and repairs those whose correction can be
// proved, and that its exit code tells the result.
func TestReconcile(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	expectOutput(t, s, 0, []string{"no sale"}, "reconcile")
	b := s.Buyers(s.CreateSale(t, 10, time.Now().Add(time.Hour)))
	other := s.CreateSale(t, 5, time.Now().Add(time.Hour))
	b.BuyAll(t.Context(), 4, box.Users(1, 4))
	s.Check(t, b, 10)
	if code, err := s.Servers[0].Terminate(); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	ours := []string{"-voucher", fmt.Sprint(b.Voucher)}
	reconcile := func(code int, words []string, args ...string) {
		t.Helper()
		expectOutput(t, s, code, words, append([]string{"reconcile"}, args...)...)
	}
	exec := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	reconcile(0, []string{"balanced"})

	exec(s.Redis.HIncrBy(t.Context(), s.Redis.SaleKey(b.Voucher), "stock", 3).Err())
	reconcile(3, []string{"redis_wrong", "+3"})
	reconcile(0, []string{"balanced"}, "-voucher", fmt.Sprint(other))
	reconcile(0, []string{"rebuilt", "balanced"}, append(ours, "-repair")...)

	// An accepted order that is known only from its holder.
	exec(s.Redis.HIncrBy(t.Context(), s.Redis.SaleKey(b.Voucher), "stock", -1).Err())
	exec(s.Redis.HSet(t.Context(), s.Redis.BuyersKey(b.Voucher), "77", "4242").Err())
	const untraced = "the order 4242 of user 77 is in Redis alone: a rebuild records it anew"
	reconcile(3, []string{"orders_lost", untraced}, "-orders")
	reconcile(0, []string{"rebuilt", "1 orders are lost", "balanced"}, "-repair")

	// The ledger has too few units: nothing proves which number is wrong.
	_, err := s.Ledger.DB.ExecContext(t.Context(),
		"UPDATE tb_seckill_voucher SET stock = stock - 2 WHERE voucher_id = ?", b.Voucher)
	exec(err)
	reconcile(3, []string{"ledger_short", "-2"})
	reconcile(3, []string{"ledger_short", "-2"}, "-repair") // Redis is made to follow the ledger
	_, err = s.Ledger.DB.ExecContext(t.Context(),
		"UPDATE tb_seckill_voucher SET issued = issued - 2 WHERE voucher_id = ?", b.Voucher)
	exec(err)
	reconcile(0, []string{"balanced"})
	reconcile(1, []string{"no voucher 4711"}, "-voucher", "4711")

	exec(s.Servers[0].Start())
	box.Eventually(t, "the lost order's row", func() error {
		rows, err := s.Ledger.Orders(t.Context(), b.Voucher)
		if err == nil && len(rows) != 5 {
			err = fmt.Errorf("%d orders", len(rows))
		}
		return err
	})
	reconcile(0, []string{"balanced"})

	// The database is of before another sale was created.
	if code, err := s.Servers[0].Terminate(); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	for _, table := range []string{"tb_seckill_voucher WHERE voucher_id", "tb_voucher WHERE id"} {
		_, err := s.Ledger.DB.ExecContext(t.Context(), "DELETE FROM "+table+" = ?", other)
		exec(err)
	}
	gone := fmt.Sprintf("voucher %d: Redis has its sale, with 0 orders, and the database has no such sale", other)
	reconcile(3, []string{"balanced", gone})
}

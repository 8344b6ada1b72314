package upgrade

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// purgeBesideEachOther has a sale that is over beside an instance of the previous version. While it lives, neither the
// command, nor the job of another instance, nor a request to forget somebody changes anything; once it has gone, they
// do, and it does not start any more.
func purgeBesideEachOther(t *testing.T, old, now release) {
	redis := testkit.StartRedis(t, keepsAll...)
	s := openStores(t, redis, testkit.StartMariaDB(t).DSN("seckill"))
	a := s.start(old, "a")
	const buyers = 3
	sale := a.createSale(10)
	token := box.BuyerToken
	for user := range int64(buyers) {
		path := fmt.Sprintf("/voucher/seckill/%d?wait=10s", sale)
		status, e, err := a.post(t.Context(), path, token(user+1), nil)
		if err == nil && status == http.StatusCreated {
			status, e, err = a.post(t.Context(), "/order/"+e.Data.OrderID+"/cancel", token(user+1), nil)
		}
		if err != nil || status != http.StatusOK {
			t.Fatalf("buying and cancelling: %d %s, %v", status, e.Code, err)
		}
	}
	s.end(sale)
	orders := func() int64 { return s.count("tb_voucher_order") }
	withJob := maps.Clone(s.settings())
	withJob["SECKILL_KEEP"] = "720h"
	b := launch(t, now, "b", withJob)
	purge := func() box.Output {
		before := time.Now().UTC().Format(time.DateOnly)
		return box.Command(t, s.settings(), "purge", "-before", before, "-why", "a year")
	}
	forget := func() (int, string) {
		t.Helper()
		status, e, err := b.post(t.Context(), "/admin/user/1/forget", box.AdminToken(), why)
		if err != nil {
			t.Fatal(err)
		}
		return status, e.Code
	}
	if a.binary != b.binary { // else no version is older
		const refusal = "an instance of an earlier version is alive"
		if got := purge(); got.Code != 1 || !strings.Contains(got.Stdout+got.Stderr, refusal) {
			t.Errorf("beside the previous version: %+v", got)
		}
		if status, code := forget(); status != http.StatusServiceUnavailable || code != "UPGRADING" {
			t.Errorf("forgetting beside the previous version: %d %s", status, code)
		}
		box.Eventually(t, "the job being refused", func() error {
			if !strings.Contains(b.server.Log.String(), refusal) {
				return errNotYet
			}
			return nil
		})
		for _, table := range []string{"tb_purge", "tb_forgotten", "tb_session_void"} {
			if n := s.count(table); n != 0 {
				t.Errorf("%d rows in %s", n, table)
			}
		}
		if n := orders(); n != buyers {
			t.Errorf("%d orders are left, want %d", n, buyers)
		}
		a.terminate()
		a = s.start(old, "a") // nothing has gone, so there is a way back
	}
	a.terminate()
	box.Eventually(t, "forgetting once the previous version has gone", func() error {
		if status, code := forget(); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, code)
		}
		return nil
	})
	if got := purge(); got.Code != 0 || orders() != 0 {
		t.Errorf("once the previous version has gone: %+v, %d orders are left", got, orders())
	}
	if a.binary == b.binary {
		return
	}
	again := box.NewServer(t, "c", s.settings())
	again.Binary = old.binary
	if again.Start() == nil {
		t.Error("the previous version starts although orders were purged")
	}
}

// end makes a sale one that ended two months ago and has left Redis.
func (s *stores) end(sale int64) {
	s.Helper()
	_, err := s.ledger.DB.ExecContext(s.Context(), "UPDATE tb_seckill_voucher SET begin_time = UTC_TIMESTAMP(3) - "+
		"INTERVAL 61 DAY, end_time = UTC_TIMESTAMP(3) - INTERVAL 60 DAY, retired = 1 WHERE voucher_id = ?", sale)
	s.must(err)
	s.must(s.rdb.Del(s.Context(), s.rdb.SaleKey(sale), s.rdb.BuyersKey(sale)).Err())
}

// count returns how many rows a table has.
func (s *stores) count(table string) (n int64) {
	s.Helper()
	s.must(s.ledger.DB.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

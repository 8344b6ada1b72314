package test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestTutorialTablesMove runs the statements that bring the tutorial's tables over, and sells what they brought: who
// had an order keeps it, who had two keeps one, and all units are accounted for.
func TestTutorialTablesMove(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	s := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	s.Add(t, testkit.RedisAddr(t), dsn, map[string]string{"SECKILL_MIGRATE": "false"})
	expectOutput(t, s, 0, nil, "migrate")
	db := moveTutorial(t, testkit.MySQL(t), dsn)
	for id, want := range map[int64]string{
		1001: "1 ", 1002: "1 ", 1003: "2 ", 1004: "3 ", 1005: "4 ", 1006: "5 ", 1007: "6 ",
	} {
		moved(t, db, want, "SELECT CONCAT(status, ' ', reason) FROM tb_voucher_order WHERE user_id = ? AND "+
			"voucher_id = 10 AND reason = ''", id)
	}
	moved(t, db, "2 DUPLICATE_BUYER",
		"SELECT CONCAT(COUNT(*), ' ', MIN(reason)) FROM tb_voucher_order WHERE voucher_id = 10 AND reason <> ''")
	moved(t, db, "7 UNKNOWN_VOUCHER", "SELECT CONCAT(status, ' ', reason) FROM tb_voucher_order WHERE voucher_id = 99")
	moved(t, db, "2 0", "SELECT CONCAT(status, ' ', type) FROM tb_voucher WHERE id = 13")
	moved(t, db, "1 1", "SELECT CONCAT(status, ' ', type) FROM tb_voucher WHERE id = 12")
	moved(t, db, "1", "SELECT ABS(TIMESTAMPDIFF(SECOND, begin_time, UTC_TIMESTAMP()) - 3600) < 600 FROM "+
		"tb_seckill_voucher WHERE voucher_id = 10")

	s.Start(t)
	const left, holders = 5, 5 // of sale 10; of its orders five live
	s.AwaitState(t, 10, "on_sale")
	s.AwaitState(t, 11, "sold_out")
	b := s.Buyers(10)
	b.BuyAll(t.Context(), 4, []int64{1001, 1002, 1003, 1004, 1006})
	if got := b.Record.Counts(); got["held"] != holders {
		t.Errorf("who had an order was answered %v, want %d times the same order", got, holders)
	}
	b.BuyAll(t.Context(), 4, append(box.Users(1, 10), 1005, 1007)) // these two have no live order
	if got := b.Record.Counts(); got["accepted"] != left {
		t.Errorf("%v: %d units were left", got, left)
	}
	box.Eventually(t, "rows of all orders", func() error {
		stock, issued, err := s.Ledger.Sale(t.Context(), b.Voucher)
		if err == nil && (stock != 0 || issued != left+holders) {
			err = fmt.Errorf("stock %d of %d", stock, issued)
		}
		return err
	})
	moved(t, db, "10", "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = 10 AND live = 1")
	expectOutput(t, s, 0, []string{"balanced"}, "reconcile")
	s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL("/order/576951452317004005"), Token: box.BuyerToken(1003),
	})
}

// moveTutorial makes the tutorial's tables in one schema, moves them to the other, and returns that.
func moveTutorial(t *testing.T, from, to string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(to)
	if err != nil {
		t.Fatal(err)
	}
	config.MultiStatements = true
	old, err := mysql.ParseDSN(from)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is under way
	db.SetMaxOpenConns(1)                // the statements set their connection's time zone
	schemas := strings.NewReplacer("hmdp.", old.DBName+".", "seckill.", config.DBName+".")
	for _, path := range []string{"testdata/tutorial.sql", "../examples/tutorial/move.sql"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = db.ExecContext(t.Context(), schemas.Replace(string(text))); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return db
}

// moved expects one value.
func moved(t *testing.T, db *sql.DB, want, query string, args ...any) {
	t.Helper()
	var got string
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&got); err != nil || got != want {
		t.Errorf("%s %v: %q, %v; want %q", query, args, got, err, want)
	}
}

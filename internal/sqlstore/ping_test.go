package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit/ledgertest"
)

// A full disk can still be read. Once a write has failed, the database does not answer until one has gone through: one
// of an order, or one that is tried now and then.
func TestPingOfFullDisk(t *testing.T) {
	t.Parallel()
	now := ledgertest.StartTime
	o := ledgertest.Limits()
	o.Now = func() time.Time { return now }
	db, err := sqlkit.OpenSQLite(t.Context(), ledgertest.MigratedSQLite(t), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var refused error
	db.Before(func(context.Context, *gorm.DB) error { return refused })
	db.Pool().SetMaxOpenConns(1) // the limit below is a connection's
	limit := func(pages string) {
		t.Helper()
		if _, err := db.Pool().ExecContext(t.Context(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	write := func(size int) error {
		return db.Write(t.Context(), func(tx *gorm.DB) error {
			return tx.Exec("INSERT INTO tb_setting (name, value, create_time) VALUES (?, ?, 0)",
				time.Now().String(),
				strings.Repeat("x", size)).Error
		})
	}
	ping := func(when string, want bool) {
		t.Helper()
		if err := db.Ping(t.Context()); (err == nil) != want || err != nil && !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v", when, err)
		}
	}
	ping("at first", true)
	limit("1") // as many as there are
	if err := write(1 << 20); err == nil {
		t.Fatal("a full disk takes a write")
	}
	ping("after a write that failed", false)
	now = now.Add(29 * time.Second)
	ping("a moment later", false)
	limit("1000000")
	if err := write(1 << 20); err != nil {
		t.Fatal(err)
	}
	ping("after one that went through", true)
	limit("1")
	if err := write(1 << 20); err == nil {
		t.Fatal("a full disk takes a write")
	}
	ping("when it is full again", false)
	limit("1000000")
	ping("without a write since", false)
	now = now.Add(30 * time.Second)
	refused = fmt.Errorf("%w: still full", order.ErrUnavailable)
	ping("when one is tried in vain", false)
	refused = nil
	ping("when one is tried", true)
	ping("afterwards", true)
}

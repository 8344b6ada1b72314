// Package ledgertest opens ledgers for tests, in MariaDB and SQLite, with helpers that several tests need.
package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
	"seckill/internal/voucher"
)

// StartTime is the time of everything in these tests, unless a test moves the clock. Its microseconds are not stored.
var StartTime = time.Date(2026, 6, 1, 20, 0, 0, 123_456_000, time.UTC)

// RecordedAt is StartTime as stored in the tables, and PayBefore is the payment deadline of an order recorded then.
var (
	RecordedAt = StartTime.Truncate(time.Millisecond)
	PayBefore  = RecordedAt.Add(voucher.DefaultPayWithin)
)

// Whole is a ledger with the methods of all its subjects, for tests that use most of them.
type Whole struct {
	*sqlstore.Store
	sqlstore.Records
	sqlstore.Operations
	sqlstore.Orders
	sqlstore.Payments
	sqlstore.Unwinds
	sqlstore.Sales
	vouchers
}

type vouchers = sqlstore.Vouchers // has a method Vouchers, so the field needs another name

// Vouchers is the method of sqlstore.Vouchers, and not the store's field.
func (w Whole) Vouchers(ctx context.Context, q voucher.Search) ([]voucher.Voucher, int64, error) {
	return w.vouchers.Vouchers(ctx, q)
}

// WholeOf returns the store with the methods of all its subjects.
func WholeOf(s *sqlstore.Store) Whole {
	return Whole{s, s.Records, s.Operations, s.Orders, s.Payments, s.Unwinds, s.Sales, s.Vouchers}
}

// Ledger is a store with its own schema, and direct access to its database.
type Ledger struct {
	Whole

	Raw     *sql.DB       // for changes that the store itself never makes
	Clock   *atomic.Int64 // nanoseconds since StartTime; the store's clock
	Dialect string        // mysql or sqlite
}

// Each runs the test on an empty, migrated ledger in MariaDB and in SQLite. The test must not alter the tables.
func Each(t *testing.T, test func(t *testing.T, l Ledger)) {
	t.Helper()
	each(t, MigratedMySQL, test)
}

// EachOwnSchema is Each for tests that alter tables.
func EachOwnSchema(t *testing.T, test func(t *testing.T, l Ledger)) {
	t.Helper()
	each(t, testkit.MySQL, test)
}

func each(t *testing.T, mySQL func(testing.TB) string, test func(t *testing.T, l Ledger)) {
	t.Helper()
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		test(t, OpenMySQL(t, mySQL(t)))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, OpenSQLite(t, MigratedSQLite(t)))
	})
}

// MigratedMySQL returns the DSN of a schema with the service's tables and initial rows.
func MigratedMySQL(tb testing.TB) string {
	tb.Helper()
	return testkit.MigratedMySQL(tb, func(ctx context.Context, dsn string) error {
		store, err := sqlstore.OpenMySQL(ctx, dsn, Limits())
		if err != nil {
			return err
		}
		_, err = store.Schema().Migrate(ctx)
		return errors.Join(err, store.Close())
	})
}

// MigratedSQLite returns the path of an SQLite file with the same tables and rows.
func MigratedSQLite(tb testing.TB) string {
	tb.Helper()
	file, err := sqliteFile()
	path := filepath.Join(tb.TempDir(), "ledger.db")
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// sqliteFile is a migrated file, created once because migrating takes longer than most tests.
var sqliteFile = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "ledger.db")
	store, err := sqlstore.OpenSQLite(context.Background(), path, Limits())
	if err != nil {
		return nil, err
	}
	_, err = store.Schema().Migrate(context.Background())
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Options returns options whose clock shows StartTime plus the given nanoseconds.
func Options(clock *atomic.Int64) sqlkit.Options {
	return sqlkit.Options{
		Now: func() time.Time { return StartTime.Add(time.Duration(clock.Load())) },
		Log: slog.New(slog.DiscardHandler), MaxConns: 16, Timeout: 10 * time.Second,
	}
}

// Limits returns options with the settings' default limits.
func Limits() sqlkit.Options { return sqlkit.Options{MaxConns: 16, Timeout: 10 * time.Second} }

// OpenMySQL opens a ledger whose database server's clock is at StartTime as well.
func OpenMySQL(tb testing.TB, dsn string) Ledger {
	tb.Helper()
	dsn = Stopped(tb, dsn, StartTime)
	l := Ledger{Clock: new(atomic.Int64), Dialect: "mysql"}
	store, err := sqlstore.OpenMySQL(tb.Context(), dsn, Options(l.Clock))
	if err != nil {
		tb.Fatal(err)
	}
	l.Whole, l.Raw = WholeOf(store), RawPool(tb, "mysql", dsn)
	return l.migrated(tb)
}

// Stopped returns a DSN for sessions whose clock stands still; the server lets a session set its time.
func Stopped(tb testing.TB, dsn string, at time.Time) string {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	if cfg.Params == nil {
		cfg.Params = make(map[string]string)
	}
	cfg.Params["timestamp"] = fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
	return cfg.FormatDSN()
}

// OpenSQLite opens a ledger in a file.
func OpenSQLite(tb testing.TB, path string) Ledger {
	tb.Helper()
	l := Ledger{Clock: new(atomic.Int64), Dialect: "sqlite"}
	store, err := sqlstore.OpenSQLite(tb.Context(), path, Options(l.Clock))
	if err != nil {
		tb.Fatal(err)
	}
	l.Whole, l.Raw = WholeOf(store), RawPool(tb, "sqlite", RawSQLite(path))
	return l.migrated(tb)
}

// RawPool opens the database directly, bypassing the store.
func RawPool(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := raw.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return raw
}

func (l Ledger) migrated(tb testing.TB) Ledger {
	tb.Helper()
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	if _, err := l.Schema().Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return l
}

// Draft is a valid voucher of shop 1.
func Draft() voucher.Voucher {
	return voucher.Voucher{
		ShopID: 1, Title: "100 for 10", SubTitle: "tonight at eight", Rules: "one each",
		Picture: "https://img.shop.example/1.png", PayValue: 1000, ActualValue: 10000,
		Kind: voucher.Ordinary, Status: voucher.OnShelf,
		PayWithin: voucher.DefaultPayWithin, PerUser: 3,
	}
}

// Seckill creates a seckill voucher with stock units whose sale is at epoch 1.
func (l Ledger) Seckill(tb testing.TB, stock int64) int64 {
	tb.Helper()
	v := Draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{Stock: stock, Issued: stock, Begin: RecordedAt, End: RecordedAt.Add(time.Hour)}
	if err := l.CreateVoucher(tb.Context(), &v, Admin); err != nil {
		tb.Fatal(err)
	}
	if raised, err := l.RaiseEpoch(tb.Context(), v.ID, 0, order.SaleView{}); err != nil || raised.Epoch != 1 {
		tb.Fatalf("RaiseEpoch = %+v, %v; want epoch 1", raised, err)
	}
	return v.ID
}

// Exec changes the tables directly, bypassing the store.
func (l Ledger) Exec(tb testing.TB, query string, args ...any) {
	tb.Helper()
	if _, err := l.Raw.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// Number reads a number directly from the tables.
func (l Ledger) Number(tb testing.TB, query string, args ...any) int64 {
	tb.Helper()
	var n int64
	if err := l.Raw.QueryRowContext(tb.Context(), query, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// Sale reads the sale's row.
func (l Ledger) Sale(tb testing.TB, voucherID int64) voucher.Sale {
	tb.Helper()
	v, err := l.Voucher(tb.Context(), voucherID)
	if err != nil || v.Sale == nil {
		tb.Fatalf("Voucher(%d) = %+v, %v", voucherID, v, err)
	}
	return *v.Sale
}

// Conserved fails the test unless stock and live orders add up to the units issued (I5), and rows are consistent.
func (l Ledger) Conserved(tb testing.TB, voucherID int64) {
	tb.Helper()
	sale := l.Sale(tb, voucherID)
	live := l.Number(tb, "SELECT COALESCE(SUM(quantity), 0) FROM tb_voucher_order WHERE voucher_id = ? AND live = 1",
		voucherID)
	if sale.Stock < 0 || sale.Stock+sale.Kept+live != sale.Issued {
		tb.Errorf("voucher %d: stock %d + kept %d + live %d != issued %d", voucherID, sale.Stock,
			sale.Kept, live, sale.Issued)
	}
	invited := l.Number(tb, "SELECT COUNT(*) FROM tb_place WHERE voucher_id = ? AND state = 2", voucherID)
	if sale.Accepted < 0 || sale.Kept < sale.Accepted+invited {
		tb.Errorf("voucher %d: %d units are kept for %d acceptances and %d invitations", voucherID, sale.Kept,
			sale.Accepted, invited)
	}
	if n := l.Number(tb, "SELECT COALESCE(SUM(invited), 0) FROM tb_waiting_list WHERE voucher_id = ?",
		voucherID); n != invited {
		tb.Errorf("voucher %d: the list counts %d invitations, there are %d", voucherID, n, invited)
	}
}

var nextOrderID atomic.Int64

// Claims makes n claims of epoch 1 by users first, first+1, …, with sequences from 1 and ids never used before.
func Claims(voucherID, first int64, n int) []order.Claim {
	cs := make([]order.Claim, n)
	for i := range cs {
		cs[i] = order.Claim{
			OrderID: 1<<40 + nextOrderID.Add(1), UserID: first + int64(i), VoucherID: voucherID,
			Epoch: 1, Sequence: int64(i) + 1,
		}
	}
	return cs
}

// Record records orders.
func (l Ledger) Record(tb testing.TB, cs []order.Claim) {
	tb.Helper()
	if err := l.Insert(tb.Context(), cs); err != nil {
		tb.Fatalf("Insert: %v", err)
	}
}

// DecideAll returns a function that answers every claim with the verb.
func DecideAll(cs []order.Claim, verb order.Verb, reason reason.Failure) func(order.LedgerView) []order.Decision {
	return func(order.LedgerView) []order.Decision {
		ds := make([]order.Decision, len(cs))
		for i, c := range cs {
			ds[i] = order.Decision{Claim: c, Verb: verb, RowID: c.OrderID, Reason: reason}
		}
		return ds
	}
}

// Cancelled returns a context that has ended.
func Cancelled(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	return ctx
}

// Stored formats a time as text that both dialects read.
func Stored(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") }

// AwaitTake returns once a transaction is taking units of the voucher; it stays in that statement only if it waits for
// the sale's row. SQLite's writers wait invisibly within the store, so there it returns at once.
func (l Ledger) AwaitTake(tb testing.TB, voucherID int64) {
	tb.Helper()
	if l.Dialect != "mysql" {
		return
	}
	l.AwaitQuery(tb, fmt.Sprintf("UPDATE tb_seckill_voucher SET stock = stock - %% WHERE voucher_id = %d AND %%",
		voucherID))
}

// lockWait matches a transaction that waits for a lock, with its connection, in the text of SHOW ENGINE INNODB STATUS.
var lockWait = regexp.MustCompile(`(?m)^LOCK WAIT .*\n(?:MariaDB|MySQL) thread id (\d+)`)

// AwaitLockWait returns once a transaction waits for a lock in the schema. It does not use
// information_schema.innodb_trx, which is refreshed only after 100 ms without queries: two tests that poll alternately
// would never see a change.
func (l Ledger) AwaitLockWait(tb testing.TB) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var engine, name, status string
		if err := l.Raw.QueryRowContext(tb.Context(), "SHOW ENGINE INNODB STATUS").Scan(&engine,
			&name, &status); err != nil {
			tb.Fatal(err)
		}
		for _, waiting := range lockWait.FindAllStringSubmatch(status, -1) {
			if l.Number(tb, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id = ?",
				waiting[1]) > 0 {
				return
			}
		}
		time.Sleep(20 * time.Millisecond) // the server offers no signal
	}
	tb.Fatal("no transaction waits for a lock")
}

// AwaitQuery returns once the server is busy with a statement that is LIKE the pattern.
func (l Ledger) AwaitQuery(tb testing.TB, pattern string) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if l.Number(tb, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE ?",
			pattern) > 0 {
			return
		}
		time.Sleep(2 * time.Millisecond) // the server offers no signal
	}
	tb.Fatalf("no connection runs %s", pattern)
}

// RawSQLite returns the DSN for opening a file directly, bypassing the store.
func RawSQLite(path string) string {
	q := url.Values{"_pragma": {"busy_timeout(10000)"}, "_txlock": {"immediate"}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

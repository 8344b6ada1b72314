package sqlstore_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// A sale's orders, read page by page to the end, cost one index entry for each, whatever page it is: exports and lists
// of a large sale stay linear. SECKILL_TEST_ORDERS is how many orders the sale has.
func TestPagesOfOrdersAreLinear(t *testing.T) {
	ordersOf, page := 20_000, 1000
	if text := os.Getenv("SECKILL_TEST_ORDERS"); text != "" {
		var err error
		if ordersOf, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Seckill(t, int64(ordersOf)), l.Seckill(t, int64(ordersOf))
		for user := 1; user <= ordersOf; user += 500 {
			l.Record(t, ledgertest.Claims(v, int64(user), min(500, ordersOf-user+1)))
			l.Record(t, ledgertest.Claims(other, int64(user), 10))
		}
		for name, next := range map[string]func(last int64) ([]order.Order, error){
			"exported": func(last int64) ([]order.Order, error) {
				return l.OrdersAfter(t.Context(), v, last, page)
			},
			"listed, newest first": func(last int64) ([]order.Order, error) {
				if last == 0 {
					last = math.MaxInt64
				}
				return l.Find(t.Context(), order.Filter{VoucherID: v}, last, page)
			},
		} {
			read := l.entriesRead(t, "idx_order_voucher (voucher_id=? AND rowid")
			rows, last := 0, int64(0)
			for {
				orders, err := next(last)
				if err != nil {
					t.Fatal(err)
				}
				rows += len(orders)
				if len(orders) < page {
					break
				}
				last = orders[len(orders)-1].ID
			}
			entries := read()
			t.Logf("%s: %d index entries for %d orders", name, entries, rows)
			if rows != ordersOf || float64(entries) > 1.1*float64(rows) {
				t.Errorf("%s: %d orders of %d, and %d index entries were read for them", name, rows, ordersOf, entries)
			}
		}
	})
}

// entriesRead begins to count the index entries and rows that statements of the store read, and returns what ends it
// with their number. Where the database does not count, SQLite, it is those of the plan: the search for all columns of
// an index reads no other entries.
func (l ledger) entriesRead(t *testing.T, search string) func() int {
	t.Helper()
	if l.Dialect == "sqlite" {
		return l.entriesPlanned(t, search)
	}
	l.DB().Pool().SetMaxOpenConns(1) // the server counts for each connection
	before := l.handlerReads(t)
	return func() int { return l.handlerReads(t) - before }
}

// handlerReads is how many index entries and rows the store's only connection has read.
func (l ledger) handlerReads(t *testing.T) (sum int) {
	t.Helper()
	rows, err := l.DB().Pool().QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		if name != "Handler_read_retry" && !strings.HasSuffix(name, "_deleted") {
			sum += n
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}

// entriesPlanned is entriesRead for SQLite.
func (l ledger) entriesPlanned(t *testing.T, search string) func() int {
	t.Helper()
	const name = "test:plan"
	entries := 0
	queries := l.DB().Read(t.Context()).Callback().Query()
	err := queries.After("gorm:query").Register(name, func(db *gorm.DB) {
		entries += int(db.RowsAffected)
		plan := l.plan(t, db.Statement.SQL.String(), db.Statement.Vars)
		if !strings.Contains(plan, search) || strings.Contains(plan, "B-TREE") {
			t.Errorf("%s\nis read by\n%s", db.Statement.SQL.String(), plan)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() int {
		if err := queries.Remove(name); err != nil {
			t.Error(err)
		}
		return entries
	}
}

// plan returns how SQLite would read what a query asks for.
func (l ledger) plan(t *testing.T, query string, args []any) (plan string) {
	t.Helper()
	rows, err := l.Raw.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Error(err)
		}
		plan += fmt.Sprintln(detail)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	return plan
}

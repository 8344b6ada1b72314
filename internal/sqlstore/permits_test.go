package sqlstore_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// load returns how a class uses the pool.
func load(s ledgertest.Whole, c bulkhead.Class) bulkhead.Load {
	for _, l := range s.DB().Bulkhead().Loads() {
		if l.Class == c {
			return l
		}
	}
	return bulkhead.Load{}
}

// Readers of vouchers whom the database keeps waiting hold the connections that they can have, and no more: every
// other class reads and writes meanwhile. A reader more learns that nothing was done.
func TestReadersLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	o := ledgertest.Options(l.Clock)
	o.Timeout = time.Minute // the readers wait for half of it at most
	store := ledgertest.Through(t, dsn, func(*mysql.Config) {}, o)
	unlock := l.LockTable(t, "tb_voucher")
	var readers sync.WaitGroup
	defer readers.Wait()
	defer unlock()
	const crowd = 40
	shed := make(chan error, crowd)
	for range crowd {
		readers.Go(func() {
			_, err := store.Voucher(bulkhead.With(t.Context(), bulkhead.PublicRead), 1)
			if !errors.Is(err, voucher.ErrNotFound) {
				shed <- err
			}
		})
	}
	most := load(store, bulkhead.PublicRead).Most
	for range crowd - most {
		if err := <-shed; !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, bulkhead.ErrFull) {
			t.Errorf("a reader more: %v, want ErrUnavailable", err)
		}
	}
	if got := load(store, bulkhead.PublicRead); got.InUse != most || most != 3 {
		t.Errorf("the readers have %d connections of %d, want 3", got.InUse, most)
	}
	for _, c := range bulkhead.Stores()[1:] {
		ctx, cancel := context.WithTimeout(bulkhead.With(t.Context(), c), 25*time.Second) // before the readers end
		if err := store.Ping(ctx); err != nil {
			t.Errorf("%s: %v", c, err)
		}
		if _, err := store.OrdersByID(ctx, []int64{1}); err != nil {
			t.Errorf("%s reads: %v", c, err)
		}
		if _, err := store.IDKey(ctx); err != nil {
			t.Errorf("%s writes: %v", c, err)
		}
		cancel()
	}
}

// The recorders of the greatest number of partitions share the connections that recording can have: while the
// database keeps all of them waiting, every other class reads; a recorder more learns that nothing was done, and
// comes again; in the end each has recorded.
func TestRecordersOfAllPartitionsShareThePool(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	o := ledgertest.Options(l.Clock)
	o.Timeout = time.Minute // a lock is waited for half of it at most
	store := ledgertest.Through(t, dsn, func(*mysql.Config) {}, o)
	batches := make([][]order.Claim, partition.Max)
	for n := range batches {
		batches[n] = ledgertest.Claims(l.Seckill(t, 5), 1, 5)
	}
	unlock := l.LockTable(t, "tb_voucher_order")
	shed := make(chan error, partition.Max)
	var recorders sync.WaitGroup
	ctx := bulkhead.With(t.Context(), bulkhead.Recording)
	for _, batch := range batches {
		recorders.Go(func() {
			for first := true; ; first = false {
				err := store.Insert(ctx, batch)
				if err == nil {
					return
				}
				if first {
					shed <- err
				}
			}
		})
	}
	most := load(store, bulkhead.Recording).Most
	for range partition.Max - most {
		if err := <-shed; !errors.Is(err, bulkhead.ErrFull) {
			t.Errorf("a recorder more: %v, want that there is no connection", err)
		}
	}
	if got := load(store, bulkhead.Recording); got.InUse > most || most >= o.MaxConns {
		t.Errorf("the recorders have %d connections, %d at most, of %d", got.InUse, most, o.MaxConns)
	}
	for _, c := range bulkhead.Stores() {
		if c == bulkhead.Recording {
			continue
		}
		if _, err := store.Partitions(bulkhead.With(t.Context(), c)); err != nil {
			t.Errorf("%s reads: %v", c, err)
		}
	}
	unlock()
	recorders.Wait()
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 5*partition.Max {
		t.Errorf("%d orders are recorded, want %d", n, 5*partition.Max)
	}
}

// Rows that are read one by one keep their permit to the end, and a statement on rows without one is refused.
func TestStreamedRowsHoldAPermit(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 10)
		l.Record(t, ledgertest.Claims(v, 1, 3))
		var held []int
		ctx := bulkhead.With(t.Context(), bulkhead.Recording)
		err := l.OrderIDs(ctx, 0, 1<<62, func(int64) { held = append(held, load(l.Whole, bulkhead.Recording).InUse) })
		if err != nil || !slices.Equal(held, []int{1, 1, 1}) {
			t.Errorf("held %v while three rows were read, %v", held, err)
		}
		if n := load(l.Whole, bulkhead.Recording).InUse; n != 0 {
			t.Errorf("%d are in use afterwards", n)
		}
	})
}

// A Scan or Rows outside a transaction would keep a connection beyond its permit. Features have none at all, as a query
// may be begun in a function of its own.
func TestResultsAreReadWithinTheirPermit(t *testing.T) {
	t.Parallel()
	beyond := regexp.MustCompile(`db\.Read\(ctx\)[^\n]*(\n[^\n]*[,.(]$)*[^\n]*\.(Scan|Rows?)\(`)
	for root, forbidden := range map[string]*regexp.Regexp{
		".": beyond, "../feature": regexp.MustCompile(`\.(Scan\(&|Rows?\(\))`),
	} {
		files := 0
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			files++
			text, err := os.ReadFile(name)
			if found := forbidden.Find(text); found != nil {
				t.Errorf("%s: use Find, or hold a permit: %s", name, found)
			}
			return err
		})
		if err != nil || files < 20 {
			t.Errorf("%s: %d files, %v", root, files, err)
		}
	}
}

// A statement with others inside takes one permit, where there is one for its class: with more it would wait for
// itself.
func TestASubqueryTakesNoPermit(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	o := ledgertest.Options(l.Clock)
	o.MaxConns = len(bulkhead.Stores())
	store := ledgertest.Through(t, dsn, func(*mysql.Config) {}, o)
	if _, _, err := store.Pending(t.Context(), 1, 10); err != nil {
		t.Errorf("what is pending: %v", err)
	}
	if _, err := store.Find(t.Context(), order.Filter{VoucherID: 1}, math.MaxInt64, 10); err != nil {
		t.Errorf("orders of a voucher: %v", err)
	}
}

package rebuild

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger
	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/recovery"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
	"seckill/internal/voucher"
)

// BenchmarkRebuild rebuilds a lost sale with that many recorded orders. 1.01 s of each rebuild is the wait for recovery
// reports.
func BenchmarkRebuild(b *testing.B) {
	for _, orders := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("orders=%d", orders), func(b *testing.B) {
			s := newFixture(b)
			id := s.sale(orders)
			for b.Loop() {
				b.StopTimer()
				s.must(s.server.Client().FlushAll(b.Context()).Err())
				b.StartTimer()
				s.must(s.reconciler.Open(b.Context(), id))
			}
			s.checkSale(id, orders)
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/rebuild")
		})
	}
}

// BenchmarkRebuildAll rebuilds 1,000 lost sales of ten orders each, as many at a time as an instance does. It also
// counts the statements of a rebuild, which a busy machine does not change.
func BenchmarkRebuildAll(b *testing.B) {
	const sales, orders, atATime = 1_000, 10, 64
	s := newFixture(b)
	ids := make([]int64, sales)
	for i := range ids {
		ids[i] = s.sale(orders)
	}
	statements := int64(0)
	for b.Loop() {
		b.StopTimer()
		s.must(s.server.Client().FlushAll(b.Context()).Err())
		statements -= s.statements()
		b.StartTimer()
		var all errgroup.Group
		all.SetLimit(atATime)
		for _, id := range ids {
			all.Go(func() error { return s.reconciler.Open(b.Context(), id) })
		}
		s.must(all.Wait())
		b.StopTimer()
		statements += s.statements()
		b.StartTimer()
	}
	s.checkSale(ids[0], orders)
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/"+strconv.Itoa(sales))
	b.ReportMetric(float64(statements)/float64(b.N)/sales, "statements/rebuild")
}

// statements returns how many statements the database has been sent.
func (s *fixture) statements() (n int64) {
	s.Helper()
	var name string
	s.must(s.ledger.DB().Read(s.Context()).Raw("SHOW GLOBAL STATUS LIKE 'Questions'").Row().Scan(&name, &n))
	return n
}

// fixture is the part of an instance that rebuilds.
type fixture struct {
	*testing.B
	server     *testkit.RedisServer
	redis      *redisstore.Store
	ledger     *sqlstore.Store
	reconciler *recovery.Reconciler
	orders     int64 // recorded
}

// noLock locks nothing, as there is one instance.
type noLock struct{}

func (noLock) Do(ctx context.Context, _ string, f func(context.Context) error) error { return f(ctx) }

func (noLock) TryDo(ctx context.Context, _ string, f func(context.Context) error) error {
	return f(ctx)
}

// noNotifier drops notifications.
type noNotifier struct{}

func (noNotifier) RequestFlush(int64) {}

func newFixture(b *testing.B) *fixture {
	b.Helper()
	s := &fixture{B: b, server: testkit.StartRedis(b, "--appendonly", "yes", "--appendfsync", "always")}
	log := slog.New(slog.DiscardHandler)
	clients, err := rediskit.NewClients(rediskit.Config{
		Topology: rediskit.Single, Addrs: []string{s.server.Addr}, PoolSize: 64, Readers: 1, Timeout: 2 * time.Second,
	})
	s.must(err)
	b.Cleanup(func() { s.must(clients.Close()) })
	s.redis, err = redisstore.New(clients, redisstore.Options{Word: "1/ledger"}, log)
	s.must(err)
	s.ledger, err = sqlstore.OpenMySQL(b.Context(), testkit.MySQL(b),
		sqlkit.Options{Log: log, MaxConns: 16, Timeout: 10 * time.Second})
	s.must(err)
	b.Cleanup(func() { s.must(s.ledger.Close()) })
	_, err = s.ledger.Schema().Migrate(b.Context())
	s.must(err)
	catalog := catalog.New(s.ledger.Vouchers)
	b.Cleanup(catalog.Close)
	s.reconciler = recovery.New(recovery.Stores{
		Ledger: s.ledger.Sales, Rows: s.ledger.Orders, Reader: s.redis, Builder: s.redis, Locker: noLock{},
		Outbox:  noNotifier{},
		Reports: s.redis,
	}, catalog, recovery.NewRepairQueue(), telemetry.NewMetrics(telemetry.Build{}), log)
	return s
}

// sale creates a sale with that many recorded orders and as many units left, and returns its voucher.
func (s *fixture) sale(orders int) int64 {
	s.Helper()
	now, ctx := time.Now(), s.Context()
	v := &voucher.Voucher{
		ShopID: 1, Title: "100 for 10", PayValue: 1000, ActualValue: 10000, PayWithin: time.Hour, Kind: voucher.Seckill,
		Status: voucher.OnShelf, Sale: &voucher.Sale{
			Stock: int64(2 * orders), Issued: int64(2 * orders), Begin: now.Add(-time.Hour), End: now.Add(time.Hour),
		},
	}
	s.must(s.ledger.Vouchers.CreateVoucher(ctx, v, voucher.Author{AdminID: 1}))
	s.must(s.reconciler.Open(ctx, v.ID))
	claims := make([]order.Claim, orders)
	for i := range claims {
		n := int64(i + 1)
		id := now.Unix()<<16 + s.orders + n
		claims[i] = order.Claim{OrderID: id, UserID: n, VoucherID: v.ID, Epoch: 1, Sequence: n}
	}
	for part := range slices.Chunk(claims, 500) {
		s.must(s.ledger.Records.Insert(ctx, part))
	}
	s.orders += int64(orders)
	return v.ID
}

// checkSale fails the benchmark unless the sale sells and has all holders again.
func (s *fixture) checkSale(id int64, orders int) {
	s.Helper()
	views, err := s.redis.Views(s.Context(), []order.SaleRef{{VoucherID: id}})
	s.must(err)
	if v := views[0]; v.Mode != order.SaleOpen || v.Buyers != int64(orders) || v.Stock != int64(orders) {
		s.Errorf("rebuilt was %+v, want %d holders and as many units left", v, orders)
	}
}

func (s *fixture) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

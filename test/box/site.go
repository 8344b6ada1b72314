package box

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger of a real site
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the ledger of an embedded site

	"seckill/internal/testkit"
)

// Site is a deployment: its servers, and the stores behind them, which tests read.
type Site struct {
	Servers []*Server
	Client  *Client
	Ledger  Ledger
	Redis   *Redis // nil in the embedded mode: Redis is inside the server
	dataDir string // in the embedded mode
}

// Kind is a kind of deployment.
type Kind struct {
	Name string
	Open func(tb testing.TB) *Site
}

// Kinds are the deployments on which the same tests run.
func Kinds() []Kind {
	return []Kind{
		{"embedded", EmbeddedSite},
		{"one instance", realSite(1)},
		{"three instances", realSite(3)},
	}
}

// demoVouchers is how many vouchers the embedded mode has after its first start.
const demoVouchers = 3

// EmbeddedSite starts a server with only a data directory, and waits for its demonstration vouchers.
func EmbeddedSite(tb testing.TB) *Site {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "data")
	s := &Site{Client: NewClient(tb), dataDir: dir}
	s.Servers = []*Server{NewServer(tb, "embedded", map[string]string{
		"SECKILL_DATA_DIR":   dir,
		"SECKILL_JWT_SECRET": Secret,
		"SECKILL_USER_RATE":  "0",
	})}
	s.Start(tb)
	s.Ledger = OpenLedger(tb, "sqlite", "file:"+filepath.Join(dir, "seckill.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	Eventually(tb, "the demonstration vouchers", func() error {
		n, err := s.Ledger.Vouchers(tb.Context())
		if err == nil && n != demoVouchers {
			err = fmt.Errorf("%d vouchers", n)
		}
		return err
	})
	return s
}

// RealSite starts instances on the shared Redis and database servers, with their own key prefix and schema.
func RealSite(tb testing.TB, instances int) *Site {
	tb.Helper()
	_, prefix := testkit.Redis(tb)
	return SiteOn(tb, instances, testkit.RedisAddr(tb), prefix, testkit.MySQL(tb))
}

// realSite returns RealSite with the given number of instances.
func realSite(instances int) func(testing.TB) *Site {
	return func(tb testing.TB) *Site {
		tb.Helper()
		return RealSite(tb, instances)
	}
}

// SiteOn starts instances on the given stores.
func SiteOn(tb testing.TB, instances int, redisAddr, prefix, dsn string) *Site {
	tb.Helper()
	s := EmptySite(tb, redisAddr, prefix, dsn)
	for range instances {
		s.Add(tb, redisAddr, dsn, nil)
	}
	s.Start(tb)
	return s
}

// EmptySite returns a site without instances, for the stores at the given addresses.
func EmptySite(tb testing.TB, redisAddr, prefix, dsn string) *Site {
	tb.Helper()
	return EmptySiteOn(tb, redis.NewClient(&redis.Options{Addr: redisAddr}), prefix, dsn)
}

// EmptySiteOn is EmptySite with a client of any kind of Redis, which is closed at the end of the test.
func EmptySiteOn(tb testing.TB, rdb redis.UniversalClient, prefix, dsn string) *Site {
	tb.Helper()
	tb.Cleanup(func() { _ = rdb.Close() }) // nothing is in flight any more
	return &Site{Client: NewClient(tb), Redis: NewRedis(rdb, prefix), Ledger: OpenLedger(tb, "mysql", dsn)}
}

// Add adds an instance without starting it. It reaches its stores at the given addresses; settings are added to the
// usual ones.
func (s *Site) Add(tb testing.TB, redisAddr, dsn string, settings map[string]string) {
	tb.Helper()
	all := map[string]string{
		"SECKILL_REDIS_ADDRS":  redisAddr,
		"SECKILL_REDIS_PREFIX": s.Redis.prefix,
		"SECKILL_MYSQL_DSN":    dsn,
		"SECKILL_JWT_SECRET":   Secret,
		"SECKILL_USER_RATE":    "0", // in these tests, a user may send hundreds of requests at once

		"SECKILL_PAYMENT_PROVIDER": "sandbox",
		"SECKILL_PAYMENT_SECRET":   Secret,
	}
	maps.Copy(all, settings)
	s.Servers = append(s.Servers, NewServer(tb, fmt.Sprintf("instance-%d", len(s.Servers)+1), all))
}

// Start starts all servers at once: instances that start together on an empty schema must not harm each other.
func (s *Site) Start(tb testing.TB) {
	tb.Helper()
	failed := make(chan error, len(s.Servers))
	for _, srv := range s.Servers {
		go func() { failed <- srv.Start() }()
	}
	for range s.Servers {
		if err := <-failed; err != nil {
			tb.Error(err)
		}
	}
	if tb.Failed() {
		tb.FailNow()
	}
}

// URL returns the address of a path at the first server.
func (s *Site) URL(path string) string { return s.Servers[0].URL(path) }

// URLs returns the addresses of all servers in loadgen's format.
func (s *Site) URLs() string {
	urls := make([]string, len(s.Servers))
	for i, server := range s.Servers {
		urls[i] = server.URL("")
	}
	return strings.Join(urls, ",")
}

// Buyers returns the buyers of a sale.
func (s *Site) Buyers(voucher int64) *Buyers {
	return &Buyers{client: s.Client, servers: s.Servers, Voucher: voucher, Record: &Record{}}
}

// SeckillDraft is a valid body for creating a seckill voucher.
func SeckillDraft(shop, stock int64, begin, end time.Time) map[string]any {
	return map[string]any{
		"shopId": shop, "title": "100 for 10", "subTitle": "tonight at eight", "rules": "one to a person",
		"payValue": 1000, "actualValue": 10000, "stock": stock,
		"beginTime": begin.Format(time.RFC3339Nano), "endTime": end.Format(time.RFC3339Nano),
	}
}

// CreateSale creates a seckill voucher that is on sale until end, and waits until every server sells it.
func (s *Site) CreateSale(tb testing.TB, stock int64, end time.Time) int64 {
	tb.Helper()
	id := s.CreateWindow(tb, stock, time.Now().Add(-time.Minute), end)
	s.AwaitState(tb, id, "on_sale")
	return id
}

// CreateWindow creates a seckill voucher that is on sale from begin to end.
func (s *Site) CreateWindow(tb testing.TB, stock int64, begin, end time.Time) int64 {
	tb.Helper()
	r := s.Client.Must(tb, http.StatusCreated, Request{
		Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: AdminToken(),
		Body: SeckillDraft(1, stock, begin, end),
	})
	return Decode[Voucher](tb, r).ID
}

// AwaitState waits until every server shows the sale in the state.
func (s *Site) AwaitState(tb testing.TB, voucher int64, state string) {
	tb.Helper()
	Eventually(tb, fmt.Sprintf("sale %d becoming %s", voucher, state), func() error {
		for _, srv := range s.Servers {
			if v := s.voucherAt(tb, srv, voucher); v.SaleState != state {
				return fmt.Errorf("%s shows it as %q", srv.Name, v.SaleState)
			}
		}
		return nil
	})
}

// Voucher returns a voucher as the first server shows it.
func (s *Site) Voucher(tb testing.TB, id int64) Voucher {
	tb.Helper()
	return s.voucherAt(tb, s.Servers[0], id)
}

func (s *Site) voucherAt(tb testing.TB, srv *Server, id int64) Voucher {
	tb.Helper()
	r := s.Client.Must(tb, http.StatusOK,
		Request{Method: http.MethodGet, URL: srv.URL("/voucher/" + strconv.FormatInt(id, 10))})
	return Decode[Voucher](tb, r)
}

// voucherAnywhere returns a voucher from the first server that answers, because some may be down.
func (s *Site) voucherAnywhere(ctx context.Context, id int64) (v Voucher, err error) {
	for _, srv := range s.Servers {
		var r Reply
		r, err = s.Client.Do(ctx,
			Request{Method: http.MethodGet, URL: srv.URL("/voucher/" + strconv.FormatInt(id, 10))})
		if err != nil {
			continue
		}
		if r.StatusCode != http.StatusOK {
			return v, fmt.Errorf("%s answers %d: %s", srv.Name, r.StatusCode, r.Body)
		}
		err = unmarshal(r.Data, &v)
		return v, err
	}
	return v, err
}

// Order returns an order as its owner sees it at the first server.
func (s *Site) Order(tb testing.TB, user, id int64) Order {
	tb.Helper()
	r := s.Client.Must(tb, http.StatusOK, Request{
		Method: http.MethodGet, URL: s.URL("/order/" + strconv.FormatInt(id, 10)), Token: BuyerToken(user),
	})
	return Decode[Order](tb, r)
}

// unmarshal is json.Unmarshal, except that missing data is an error.
func unmarshal(data json.RawMessage, v any) error {
	if len(data) == 0 {
		return fmt.Errorf("no data")
	}
	return json.Unmarshal(data, v)
}

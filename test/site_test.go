package test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger of a real site
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the ledger of an embedded site

	"seckill/internal/testkit"
)

// site is one deployment: its servers, and the stores behind them as the tests look into them.
type site struct {
	servers []*server
	client  *client
	ledger  ledger
	live    *liveStore // nil in the embedded mode, whose Redis is inside the server
	dataDir string     // of the embedded mode
}

// siteKind is a kind of deployment that a test runs on.
type siteKind struct {
	name string
	open func(tb testing.TB) *site
}

// siteKinds are the deployments on which the same tests must hold.
func siteKinds() []siteKind {
	return []siteKind{
		{"embedded", embeddedSite},
		{"one instance", func(tb testing.TB) *site { return realSite(tb, 1) }},
		{"three instances", func(tb testing.TB) *site { return realSite(tb, 3) }},
	}
}

// embeddedSite starts a server that has nothing but a data directory, and waits for its demonstration sale.
func embeddedSite(tb testing.TB) *site {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "data")
	s := &site{client: newClient(tb), dataDir: dir}
	s.servers = []*server{newServer(tb, "embedded", map[string]string{
		"SECKILL_DATA_DIR":   dir,
		"SECKILL_JWT_SECRET": secret,
		"SECKILL_USER_RATE":  "0",
	})}
	s.start(tb)
	s.ledger = openLedger(tb, "sqlite", "file:"+filepath.Join(dir, "seckill.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	eventually(tb, "the demonstration sale", func() error {
		n, err := s.ledger.vouchers(tb.Context())
		if err == nil && n != 1 {
			err = fmt.Errorf("%d vouchers", n)
		}
		return err
	})
	return s
}

// realSite starts so many instances on the shared Redis and database servers, with keys and a schema of their own.
func realSite(tb testing.TB, instances int) *site {
	tb.Helper()
	_, prefix := testkit.Redis(tb)
	return siteOn(tb, instances, testkit.RedisAddr(tb), prefix, testkit.MySQL(tb))
}

// siteOn starts so many instances on the given stores.
func siteOn(tb testing.TB, instances int, redisAddr, prefix, dsn string) *site {
	tb.Helper()
	s := emptySite(tb, redisAddr, prefix, dsn)
	for range instances {
		s.add(tb, redisAddr, dsn, nil)
	}
	s.start(tb)
	return s
}

// emptySite is a site on the given stores, as the tests reach them, that has no instance yet.
func emptySite(tb testing.TB, redisAddr, prefix, dsn string) *site {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr})
	tb.Cleanup(func() { _ = rdb.Close() }) // nothing is in flight any more
	return &site{client: newClient(tb), live: &liveStore{rdb, prefix}, ledger: openLedger(tb, "mysql", dsn)}
}

// add describes one more instance, which finds its stores at the given addresses; settings are added to the usual ones.
func (s *site) add(tb testing.TB, redisAddr, dsn string, settings map[string]string) {
	tb.Helper()
	all := map[string]string{
		"SECKILL_REDIS_ADDRS":  redisAddr,
		"SECKILL_REDIS_PREFIX": s.live.prefix,
		"SECKILL_MYSQL_DSN":    dsn,
		"SECKILL_JWT_SECRET":   secret,
		"SECKILL_USER_RATE":    "0", // one user presses hundreds of times at once here, and wants answers

		"SECKILL_PAYMENT_PROVIDER": "sandbox",
		"SECKILL_PAYMENT_SECRET":   secret,
	}
	maps.Copy(all, settings)
	s.servers = append(s.servers, newServer(tb, fmt.Sprintf("instance-%d", len(s.servers)+1), all))
}

// start starts all servers at once: instances that meet at an empty schema must not harm each other.
func (s *site) start(tb testing.TB) {
	tb.Helper()
	failed := make(chan error, len(s.servers))
	for _, srv := range s.servers {
		go func() { failed <- srv.start() }()
	}
	for range s.servers {
		if err := <-failed; err != nil {
			tb.Error(err)
		}
	}
	if tb.Failed() {
		tb.FailNow()
	}
}

// url returns the address of a path at the first server.
func (s *site) url(path string) string { return s.servers[0].url(path) }

// crowd returns the buyers of a sale.
func (s *site) crowd(voucher int64) *crowd {
	return &crowd{client: s.client, servers: s.servers, voucher: voucher, record: &record{}}
}

// seckillDraft is a valid body for creating a seckill voucher.
func seckillDraft(shop, stock int64, begin, end time.Time) map[string]any {
	return map[string]any{
		"shopId": shop, "title": "100 for 10", "subTitle": "tonight at eight", "rules": "one to a person",
		"payValue": 1000, "actualValue": 10000, "stock": stock,
		"beginTime": begin.Format(time.RFC3339Nano), "endTime": end.Format(time.RFC3339Nano),
	}
}

// createSale creates a seckill voucher that is on sale until end, and waits until every server sells it.
func (s *site) createSale(tb testing.TB, stock int64, end time.Time) int64 {
	tb.Helper()
	body := seckillDraft(1, stock, time.Now().Add(-time.Minute), end)
	r := s.client.must(tb, http.StatusCreated, request{
		method: http.MethodPost, url: s.url("/voucher/seckill"), token: adminToken(), body: body,
	})
	v := decode[voucherJSON](tb, r)
	s.awaitState(tb, v.ID, "on_sale")
	return v.ID
}

// awaitState waits until every server shows the sale in a state.
func (s *site) awaitState(tb testing.TB, voucher int64, state string) {
	tb.Helper()
	eventually(tb, fmt.Sprintf("sale %d becoming %s", voucher, state), func() error {
		for _, srv := range s.servers {
			if v := s.voucherAt(tb, srv, voucher); v.SaleState != state {
				return fmt.Errorf("%s shows it as %q", srv.name, v.SaleState)
			}
		}
		return nil
	})
}

// voucher returns a voucher as the first server shows it.
func (s *site) voucher(tb testing.TB, id int64) voucherJSON {
	tb.Helper()
	return s.voucherAt(tb, s.servers[0], id)
}

func (s *site) voucherAt(tb testing.TB, srv *server, id int64) voucherJSON {
	tb.Helper()
	r := s.client.must(tb, http.StatusOK, request{method: http.MethodGet, url: srv.url("/voucher/" + strconv.FormatInt(id, 10))})
	return decode[voucherJSON](tb, r)
}

// shown returns a voucher as the first server shows it that answers; some may be down.
func (s *site) shown(ctx context.Context, id int64) (v voucherJSON, err error) {
	for _, srv := range s.servers {
		var r reply
		r, err = s.client.do(ctx, request{method: http.MethodGet, url: srv.url("/voucher/" + strconv.FormatInt(id, 10))})
		if err != nil {
			continue
		}
		if r.status != http.StatusOK {
			return v, fmt.Errorf("%s answers %d: %s", srv.name, r.status, r.body)
		}
		err = unmarshal(r.Data, &v)
		return v, err
	}
	return v, err
}

// order returns an order as its owner sees it at the first server.
func (s *site) order(tb testing.TB, user, id int64) orderJSON {
	tb.Helper()
	r := s.client.must(tb, http.StatusOK, request{
		method: http.MethodGet, url: s.url("/order/" + strconv.FormatInt(id, 10)), token: buyerToken(user),
	})
	return decode[orderJSON](tb, r)
}

// unmarshal is json.Unmarshal; it gives answers without data an error instead of an empty value.
func unmarshal(data json.RawMessage, v any) error {
	if len(data) == 0 {
		return fmt.Errorf("no data")
	}
	return json.Unmarshal(data, v)
}

// openLedger opens the site's SQL for looking into it.
func openLedger(tb testing.TB, driver, dsn string) ledger {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatalf("opening the ledger: %v", err)
	}
	tb.Cleanup(func() { _ = db.Close() }) // only ever read
	return ledger{db}
}

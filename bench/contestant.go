package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The names of the contestants, as they stand in reports.
const (
	bareName     = "bare handler"
	tutorialName = "stream, as the tutorials do"
	serviceName  = "this service"
)

// issued is how many units every voucher has: more than any turn can sell.
const issued = 100_000_000

// contestant is one of those who take turns.
type contestant interface {
	name() string
	// start starts it at its place and puts a voucher on sale.
	start(ctx context.Context, at *place) (*target, error)
	// audit compares the books with the accepted purchases after the process has ended. The error says what does not
	// add up.
	audit(ctx context.Context, at *place, accepted int64) error
	// records reports whether it records orders.
	records() bool
}

// target is a running contestant.
type target struct {
	*child
	addr    string
	voucher int64
}

func contestants(b binaries) []contestant {
	return []contestant{bare{b}, tutorial{b}, service{b}}
}

// bare is the HTTP side alone.
type bare struct{ bin binaries }

func (bare) name() string                               { return bareName }
func (bare) records() bool                              { return false }
func (bare) audit(context.Context, *place, int64) error { return nil }

func (b bare) start(ctx context.Context, _ *place) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, b.bin.path("bare"), addr, nil, "-addr", addr)
	return &target{c, addr, 1}, err
}

// tutorial is the baseline in bench/tutorial.
type tutorial struct{ bin binaries }

func (tutorial) name() string  { return tutorialName }
func (tutorial) records() bool { return true }

func (t tutorial) start(ctx context.Context, at *place) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, t.bin.path("tutorial"), addr, nil, "-addr", addr, "-redis", at.stores.redisAddr,
		"-prefix", at.prefix, "-dsn", at.dsn, "-stock", strconv.Itoa(issued))
	return &target{c, addr, 1}, err
}

// audit counts what it had no time to record: everything in the stream that was not acknowledged.
func (tutorial) audit(ctx context.Context, at *place, accepted int64) error {
	rdb := at.stores.rdb
	left, err := rdb.Get(ctx, at.prefix+"seckill:stock:1").Int64()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	entries, err := rdb.XLen(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	groups, err := rdb.XInfoGroups(ctx, at.prefix+"stream.orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	if len(groups) != 1 {
		return fmt.Errorf("the stream has %d groups, not 1", len(groups))
	}
	waiting := groups[0].Pending + groups[0].Lag
	return balance(ctx, at, books{
		accepted: accepted, redisStock: left, waiting: waiting,
		also: map[string][2]int64{"stream entries are the accepted": {entries, accepted}},
	})
}

// service is the service, as it is deployed.
type service struct{ bin binaries }

func (service) name() string  { return serviceName }
func (service) records() bool { return true }

func (s service) start(ctx context.Context, at *place) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, s.bin.path("server"), addr, []string{
		"SECKILL_HTTP_ADDR=" + addr,
		"SECKILL_OPS_ADDR=127.0.0.1:0",
		"SECKILL_REDIS_ADDRS=" + at.stores.redisAddr,
		"SECKILL_REDIS_PREFIX=" + at.prefix,
		"SECKILL_MYSQL_DSN=" + at.dsn,
		"SECKILL_JWT_SECRET=" + secret,
		"SECKILL_INSTANCE=bench",
	}, "serve")
	if err != nil {
		return nil, err
	}
	t := &target{child: c, addr: addr}
	if t.voucher, err = createSale(ctx, addr); err != nil {
		_ = c.stop() // the reason is known already
		return nil, err
	}
	return t, nil
}

// createSale puts a voucher on sale, as an admin does.
func createSale(ctx context.Context, addr string) (int64, error) {
	body := fmt.Sprintf(`{"shopId":1,"title":"benchmark","payValue":1000,"actualValue":10000,"stock":%d,"beginTime":%q,"endTime":%q}`,
		issued, time.Now().Add(-time.Minute).Format(time.RFC3339), time.Now().Add(24*time.Hour).Format(time.RFC3339))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/voucher/seckill", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+signAdmin())
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var created struct {
		Data struct {
			ID        int64  `json:"id"`
			SaleState string `json:"saleState"`
		} `json:"data"`
	}
	if err = json.Unmarshal(answer, &created); err != nil || created.Data.SaleState != "on_sale" {
		return 0, fmt.Errorf("creating a voucher: %s: %s", resp.Status, answer)
	}
	return created.Data.ID, nil
}

// audit wants everything recorded: this one has caught up.
func (service) audit(ctx context.Context, at *place, accepted int64) error {
	voucher, err := at.number(ctx, "SELECT voucher_id FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	sale := fmt.Sprintf("{p0}:sale:%d", voucher)
	left, err := at.hashNumber(ctx, sale, "stock")
	if err != nil {
		return err
	}
	returned, err := at.hashNumber(ctx, sale, "returned")
	if err != nil {
		return err
	}
	waiting, err := at.stores.rdb.XLen(ctx, at.prefix+"{p0}:orders").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	dead, err := at.stores.rdb.XLen(ctx, at.prefix+"{p0}:dead").Result()
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	failed, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1")
	if err != nil {
		return err
	}
	return balance(ctx, at, books{
		accepted: accepted, redisStock: left + returned, waiting: waiting,
		also: map[string][2]int64{"nothing waits": {waiting, 0}, "no dead letters": {dead, 0}, "no failed orders": {failed, 0}},
	})
}

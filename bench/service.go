package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// service is the service, as it is deployed.
type service struct{ bin binaries }

// settings are the service's own, apart from where it listens.
func (s service) settings(at *place) []string {
	return []string{
		"SECKILL_OPS_ADDR=off",
		"SECKILL_REDIS_ADDRS=" + at.stores.redisAddr,
		"SECKILL_REDIS_PREFIX=" + at.prefix,
		"SECKILL_MYSQL_DSN=" + at.dsn,
		"SECKILL_JWT_SECRET=" + secret,
	}
}

// launch starts one instance with more settings, without a voucher on sale.
func (s service) launch(ctx context.Context, at *place, instance string, more ...string) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, s.bin.path("server"), addr, slices.Concat(s.settings(at), more, []string{"SECKILL_HTTP_ADDR=" + addr, "SECKILL_INSTANCE=" + instance}), "serve")
	if err != nil {
		return nil, err
	}
	return &target{child: c, addr: addr}, nil
}

// start starts it with a sale of the stock.
func (s service) start(ctx context.Context, at *place, stock int64) (*target, error) {
	t, err := s.launch(ctx, at, "bench")
	if err != nil {
		return nil, err
	}
	if t.voucher, err = createSale(ctx, t.addr, stock); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// startSoldOut starts it with a sale of one unit, which is sold.
func (s service) startSoldOut(ctx context.Context, at *place) (*target, error) {
	t, err := s.start(ctx, at, 1)
	if err != nil {
		return nil, err
	}
	if err = buyOne(ctx, t.addr, t.voucher); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// buyOne buys a unit for somebody who is not in the crowd, and waits for its row.
func buyOne(ctx context.Context, addr string, voucher int64) error {
	const stranger = 9_000_002
	_, err := post(ctx, fmt.Sprintf("http://%s/voucher/seckill/%d?wait=10s", addr, voucher),
		signText(fmt.Sprintf(`{"sub":"%d","exp":%d}`, stranger, inAnHour())), "")
	return err
}

// migrate makes the service's tables.
func (s service) migrate(ctx context.Context, at *place) error {
	return runChild(ctx, s.bin.path("server"), s.settings(at), "migrate")
}

// createSale puts a voucher on sale, as an admin does.
func createSale(ctx context.Context, addr string, stock int64) (int64, error) {
	token := signText(fmt.Sprintf(`{"sub":"9000001","role":"admin","exp":%d}`, inAnHour()))
	answer, err := post(ctx, "http://"+addr+"/voucher/seckill", token,
		fmt.Sprintf(`{"shopId":1,"title":"benchmark","payValue":1000,"actualValue":10000,"stock":%d,"beginTime":%q,"endTime":%q}`,
			stock, time.Now().Add(-time.Minute).Format(time.RFC3339), time.Now().Add(24*time.Hour).Format(time.RFC3339)))
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
		return 0, fmt.Errorf("creating a voucher: %s", answer)
	}
	return created.Data.ID, nil
}

// post sends one request and returns its answer, which must be a 201.
func post(ctx context.Context, url, token, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, answer)
	}
	return answer, err
}

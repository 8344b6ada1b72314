package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The names of the contestants, as they stand in reports.
const (
	bareName         = "bare handler"
	tutorialName     = "stream, as the tutorials do"
	serviceName      = "this service"
	tutorialHeldName = tutorialName + "; recording held back"
	serviceHeldName  = serviceName + "; recording held back"
	alwaysName       = serviceName + "; appendfsync always"
	soldOutName      = serviceName + "; sold out"
	rawInsertName    = "raw insert"
)

// issued is how many units a voucher has: more than any turn can sell.
const issued = 100_000_000

// contestant is one of those who take turns.
type contestant struct {
	name string
	// start starts it at its place and puts a voucher on sale; nil for raw insert, which is no server.
	start func(ctx context.Context, at *place) (*target, error)
	// audit compares the books with the accepted purchases after the process has ended, and says what does not add up;
	// nil when there are no books.
	audit func(ctx context.Context, at *place, accepted int64) error
	// status is what every answer must have.
	status int
	// held keeps the sale's row in SQL locked while purchases come in, so that nothing is recorded meanwhile: what is
	// measured is admission alone, and then how fast a backlog drains.
	held bool
	// appendfsync is Redis's durability during the turn.
	appendfsync string
}

// target is a running contestant.
type target struct {
	*child
	addr    string
	voucher int64
}

// contestants are all of them, in the order of their turns.
func contestants(b binaries) []contestant {
	const accepted, conflict = http.StatusAccepted, http.StatusConflict
	tutorial, service := tutorial{b}, service{b, issued}
	return []contestant{
		{bareName, bare{b}.start, nil, accepted, false, everySecond},
		{tutorialName, tutorial.start, tutorial.audit, accepted, false, everySecond},
		{serviceName, service.start, service.audit, accepted, false, everySecond},
		{tutorialHeldName, tutorial.start, tutorial.audit, accepted, true, everySecond},
		{serviceHeldName, service.start, service.audit, accepted, true, everySecond},
		{alwaysName, service.start, service.audit, accepted, false, "always"},
		{soldOutName, soldOut{b}.start, nil, conflict, false, everySecond},
		{rawInsertName, nil, nil, 0, false, everySecond},
	}
}

// bare is the HTTP side alone.
type bare struct{ bin binaries }

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

func (t tutorial) start(ctx context.Context, at *place) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, t.bin.path("tutorial"), addr, nil, "-addr", addr, "-redis", at.stores.redisAddr,
		"-prefix", at.prefix, "-dsn", at.dsn, "-stock", strconv.Itoa(issued))
	return &target{c, addr, 1}, err
}

// service is the service, as it is deployed.
type service struct {
	bin   binaries
	stock int64
}

// settings are the service's own, apart from where it listens.
func (s service) settings(at *place) []string {
	return []string{
		"SECKILL_OPS_ADDR=off",
		"SECKILL_REDIS_ADDRS=" + at.stores.redisAddr,
		"SECKILL_REDIS_PREFIX=" + at.prefix,
		"SECKILL_MYSQL_DSN=" + at.dsn,
		"SECKILL_JWT_SECRET=" + secret,
		"SECKILL_INSTANCE=bench",
	}
}

func (s service) start(ctx context.Context, at *place) (*target, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c, err := spawn(ctx, s.bin.path("server"), addr, append(s.settings(at), "SECKILL_HTTP_ADDR="+addr), "serve")
	if err != nil {
		return nil, err
	}
	t := &target{child: c, addr: addr}
	if t.voucher, err = createSale(ctx, addr, s.stock); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return t, nil
}

// soldOut is the service with a sale of one unit, which is sold.
type soldOut struct{ bin binaries }

func (s soldOut) start(ctx context.Context, at *place) (*target, error) {
	t, err := service{s.bin, 1}.start(ctx, at)
	if err != nil {
		return nil, err
	}
	const winner = 9_000_002 // nobody in the crowd
	url := fmt.Sprintf("http://%s/voucher/seckill/%d?wait=10s", t.addr, t.voucher)
	if _, err = post(ctx, url, signText(fmt.Sprintf(`{"sub":"%d","exp":%d}`, winner, inAnHour())), ""); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
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

func inAnHour() int64 { return time.Now().Add(time.Hour).Unix() }

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

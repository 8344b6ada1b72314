package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"seckill/internal/httpload"
	"seckill/internal/testkit/freeport"
)

// instance is a process of one of the builds.
type instance struct {
	cmd  *exec.Cmd
	url  *url.URL
	log  bytes.Buffer
	done chan struct{} // closed once it has ended
}

// start starts a build in a namespace and returns once it is ready. Both builds get the same settings.
func start(ctx context.Context, binary string, at *namespace) (*instance, error) {
	addr, err := freeport.TakeAddr(ctx)
	if err != nil {
		return nil, err
	}
	i := &instance{url: &url.URL{Scheme: "http", Host: addr}, done: make(chan struct{})}
	i.cmd = exec.CommandContext(ctx, binary, "serve")
	i.cmd.Stdout, i.cmd.Stderr = &i.log, &i.log
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			i.cmd.Env = append(i.cmd.Env, kv)
		}
	}
	i.cmd.Env = append(i.cmd.Env, "SECKILL_HTTP_ADDR="+addr, "SECKILL_OPS_ADDR=off", "SECKILL_INSTANCE=versus",
		"SECKILL_REDIS_ADDRS="+at.redisAddr, "SECKILL_REDIS_PREFIX="+at.prefix, "SECKILL_MYSQL_DSN="+at.dsn, "SECKILL_JWT_SECRET="+secret)
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = i.cmd.Wait() // how it ended is read from ProcessState
		close(i.done)
	}()
	if err := i.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, i.stop())
	}
	return i, nil
}

func (i *instance) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := i.do(ctx, http.StatusOK, httpload.Request{Method: http.MethodGet, Path: "/readyz"}); err == nil {
			return nil
		}
		select {
		case <-i.done:
			return fmt.Errorf("it ended before it was ready: %s", i.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// do sends one request over a connection of its own. Its answer must have the status.
func (i *instance) do(ctx context.Context, status int, r httpload.Request) ([]byte, error) {
	c, err := httpload.New(i.url, 20*time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	a, err := c.Do(ctx, r)
	if err == nil && a.Status != status {
		err = fmt.Errorf("%s answers %d, want %d: %.300s", r.Path, a.Status, status, a.Body)
	}
	return a.Body, err
}

// createSale puts a voucher on sale, as an admin does.
func (i *instance) createSale(ctx context.Context, stock int64) (int64, error) {
	body := fmt.Sprintf(`{"shopId":1,"title":"versus","payValue":1000,"actualValue":10000,"stock":%d,"beginTime":%q,"endTime":%q}`,
		stock, time.Now().Add(-time.Minute).Format(time.RFC3339), time.Now().Add(24*time.Hour).Format(time.RFC3339))
	answer, err := i.do(ctx, http.StatusCreated, httpload.Request{
		Method: http.MethodPost, Path: "/voucher/seckill", Token: sign(9_000_001, `,"role":"admin"`), Body: []byte(body),
	})
	if err != nil {
		return 0, err
	}
	var created struct {
		Data struct {
			ID        int64  `json:"id"`
			SaleState string `json:"saleState"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &created); err != nil || created.Data.SaleState != "on_sale" {
		return 0, fmt.Errorf("creating a voucher: %s", answer)
	}
	return created.Data.ID, nil
}

// stop asks the process to end and waits for it. Further calls do nothing. An exit code other than 0 is an error.
func (i *instance) stop() error {
	_ = i.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-i.done:
	case <-time.After(30 * time.Second):
		_ = i.cmd.Process.Kill() // the same
		<-i.done
	}
	if code := i.cmd.ProcessState.ExitCode(); code != 0 {
		log := i.log.String()
		return fmt.Errorf("exit code %d; its log ends with:\n%s", code, log[max(0, len(log)-4000):])
	}
	return nil
}

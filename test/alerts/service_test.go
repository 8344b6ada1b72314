package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// service is an instance of the service on stores of its own, each behind a proxy that can break.
type service struct {
	testing.TB

	redis         *testkit.RedisServer
	dsn           string // of its database, past the proxy
	toRedis, toDB *testkit.Proxy
	server        *box.Server
	voucher       int64
	users         atomic.Int64 // the last one who has asked
}

// serve starts a service with a sale that is on; more are further settings, names and values in turn.
func serve(tb testing.TB, more ...string) *service {
	tb.Helper()
	s := &service{TB: tb, redis: testkit.StartRedis(tb, "--appendonly", "yes"), dsn: testkit.MySQL(tb)}
	c, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		tb.Fatal(err)
	}
	s.toRedis, s.toDB = testkit.NewProxy(tb, s.redis.Addr), testkit.NewProxy(tb, c.Addr)
	c.Addr = s.toDB.Addr
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": s.toRedis.Addr, "SECKILL_MYSQL_DSN": c.FormatDSN(), "SECKILL_JWT_SECRET": box.Secret,
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	s.server = box.NewServer(tb, "server-1", settings)
	if err := s.server.Start(); err != nil {
		tb.Fatal(err)
	}
	status, data := s.ask(http.MethodPost, "/voucher/seckill", box.AdminToken(), map[string]any{
		"shopId": 1, "title": "Noodles", "payValue": 0, "actualValue": 5000, "stock": 10_000_000,
		"beginTime": time.Now().Add(-time.Hour), "endTime": time.Now().Add(24 * time.Hour),
	})
	var made struct{ ID int64 }
	if err := json.Unmarshal(data, &made); err != nil || status != http.StatusCreated {
		tb.Fatalf("creating a sale: %d %s %v", status, data, err)
	}
	s.voucher = made.ID
	return s
}

// ask sends a request and returns the status, 0 for no answer, and the data.
func (s *service) ask(method, path, token string, body any) (status int, data json.RawMessage) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.server.URL(path), sent)
	if err != nil {
		return 0, nil // the test is over
	}
	request.Header.Set("Authorization", token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	var envelope struct{ Data json.RawMessage }
	_ = json.NewDecoder(answer.Body).Decode(&envelope) // an answer without an envelope has no data
	return answer.StatusCode, envelope.Data
}

// buy lets the next user buy.
func (s *service) buy() int {
	user := s.users.Add(1)
	status, _ := s.ask(http.MethodPost, fmt.Sprintf("/voucher/seckill/%d", s.voucher), box.BuyerToken(user), nil)
	return status
}

// meanwhile does something every so often, by so many at once, until the test ends.
func (s *service) meanwhile(every time.Duration, callers int, do func()) {
	for range callers {
		done := make(chan struct{})
		ctx := s.Context()
		go func() {
			defer close(done)
			again := time.NewTicker(every)
			defer again.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-again.C:
					do()
				}
			}
		}()
		s.Cleanup(func() { <-done })
	}
}

// dsnWithStatements is the database's, for a statement past the service.
func (s *service) exec(statement string) {
	s.Helper()
	db := open(s, s.dsn)
	if _, err := db.ExecContext(s.Context(), statement); err != nil {
		s.Fatalf("%s: %v", strings.Fields(statement)[0], err)
	}
}

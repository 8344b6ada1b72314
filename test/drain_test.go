package test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// TestTerminateAnswersRequestsInFlight keeps purchases in flight, by locking the sale's row so that no order can be
// recorded, and sends SIGTERM: the server must answer them all, record their orders, and exit with 0.
func TestTerminateAnswersRequestsInFlight(t *testing.T) {
	t.Parallel()
	const buyers = 20
	s := box.RealSite(t, 1)
	b := s.Buyers(s.CreateSale(t, 100, time.Now().Add(time.Hour)))
	b.Query = "wait=30s"
	release := s.Ledger.LockSale(t, b.Voucher)
	answers := make(chan checker.Answer, buyers)
	for _, user := range box.Users(1, buyers) {
		go func() { answers <- b.Buy(t.Context(), s.Servers[0], user) }()
	}
	box.Eventually(t, "acceptance of all purchases", func() error {
		v, err := s.Redis.Sale(t.Context(), b.Voucher)
		if err == nil && v.Stock != 100-buyers {
			err = fmt.Errorf("redis has %d units left", v.Stock)
		}
		return err
	})
	p, err := s.Servers[0].Signal(syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the server's refusal of new connections", func() error {
		return refusesConnections(t, s)
	})
	release()
	for range buyers {
		if a := <-answers; a.Outcome != checker.Accepted {
			t.Errorf("in flight at SIGTERM: %s, want an order id", a)
		}
	}
	if code, err := s.Servers[0].ExitCode(p); err != nil || code != 0 {
		t.Errorf("exit code %d, %v; want 0", code, err)
	}
	if err = s.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	s.Check(t, b, 100)
}

// refusesConnections returns an error as long as the server accepts connections.
func refusesConnections(t *testing.T, s *box.Site) error {
	t.Helper()
	fresh := box.NewClientOver(t, &http.Transport{DisableKeepAlives: true}, time.Second)
	if r, err := fresh.Do(t.Context(), box.Request{Method: http.MethodGet, URL: s.URL("/healthz")}); err == nil {
		return fmt.Errorf("/healthz answers %d", r.StatusCode)
	}
	return nil
}

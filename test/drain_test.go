package test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestTerminateAnswersWhatIsInFlight holds purchases in flight, by keeping the sale's row locked so that nothing can
// be recorded, and asks the server to end: it must answer them all, record their orders, and exit with 0.
func TestTerminateAnswersWhatIsInFlight(t *testing.T) {
	t.Parallel()
	const buyers = 20
	s := realSite(t, 1)
	c := s.crowd(s.createSale(t, 100, time.Now().Add(time.Hour)))
	c.query = "wait=10s"
	release := s.ledger.hold(t, c.voucher)
	answers := make(chan answer, buyers)
	for _, user := range people(1, buyers) {
		go func() { answers <- c.buy(t.Context(), s.servers[0], user) }()
	}
	eventually(t, "acceptance of all purchases", func() error {
		v, err := s.live.view(t.Context(), c.voucher)
		if err == nil && v.stock != 100-buyers {
			err = fmt.Errorf("redis has %d units left", v.stock)
		}
		return err
	})
	l, err := s.servers[0].signal(syscall.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's refusal of new connections", func() error {
		return refusesConnections(t, s)
	})
	release()
	for range buyers {
		if a := <-answers; a.verdict != accepted {
			t.Errorf("in flight at SIGTERM: %s, want an order id", a)
		}
	}
	if code, err := s.servers[0].exitCode(l); err != nil || code != 0 {
		t.Errorf("exit code %d, %v; want 0", code, err)
	}
	if err = s.servers[0].start(); err != nil {
		t.Fatal(err)
	}
	s.check(t, c, 100)
}

// refusesConnections returns an error as long as the server takes new connections.
func refusesConnections(t *testing.T, s *site) error {
	t.Helper()
	fresh := clientOver(t, &http.Transport{DisableKeepAlives: true}, time.Second)
	if r, err := fresh.do(t.Context(), request{method: http.MethodGet, url: s.url("/healthz")}); err == nil {
		return fmt.Errorf("/healthz answers %d", r.status)
	}
	return nil
}

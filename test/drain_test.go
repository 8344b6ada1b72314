package test

import (
	"fmt"
	"net/http"
	"sync/atomic"
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
	fresh := &client{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}}
	if r, err := fresh.do(t.Context(), request{method: http.MethodGet, url: s.url("/healthz")}); err == nil {
		return fmt.Errorf("/healthz answers %d", r.status)
	}
	return nil
}

// TestRollingRestart replaces three instances one after the other under full load: every one of them leaves with exit
// code 0, no accepted order is lost, and nobody is told anything but the truth.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	s := realSite(t, 3)
	c := s.crowd(s.createSale(t, killUnits, time.Now().Add(time.Hour)))
	var restarted atomic.Int32
	for i, srv := range s.servers {
		strike(t, c, killAfter*(2*i+1), func() error {
			code, err := srv.terminate()
			if err != nil {
				return err
			}
			if code != 0 {
				return fmt.Errorf("%s ended with exit code %d", srv.name, code)
			}
			restarted.Add(1)
			return srv.start()
		})
	}
	c.rush(t.Context(), killWorkers, people(1, killBuyers))
	t.Logf("answers: %v", c.record.tally())
	for _, a := range c.record.all() {
		// Nobody may be there to answer; but whoever answers knows.
		if a.verdict == unknown && a.code[0] >= '0' && a.code[0] <= '9' {
			t.Errorf("an instance on its way out answers: %s", a)
		}
	}
	if n := restarted.Load(); n != 3 {
		t.Errorf("%d instances were restarted, want 3", n)
	}
	if e := s.check(t, c, killUnits); e.liveRows() != killUnits {
		t.Errorf("%d units sold, want all %d", e.liveRows(), killUnits)
	}
}

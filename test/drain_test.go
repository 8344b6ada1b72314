package test

import (
	"fmt"
	"net/http"
	"slices"
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

// TestRollingRestart replaces three instances one after the other under full load, behind a balancer that asks
// /readyz: every one of them leaves with exit code 0, and no buyer notices anything.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const units, buyers = 6000, 7000
	s := realSite(t, 3)
	for _, srv := range s.servers {
		srv.settings["SECKILL_DRAIN_DELAY"] = "500ms"
		if err := crash(srv); err != nil { // the setting is read at the start
			t.Fatal(err)
		}
	}
	c := s.crowd(s.createSale(t, units, time.Now().Add(time.Hour)))
	c.pick = newBalancer(t, s.servers).pick
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
	c.rush(t.Context(), killWorkers, people(1, buyers))
	t.Logf("answers: %v", c.record.tally())
	if n := slices.IndexFunc(c.record.all(), func(a answer) bool { return a.verdict == unknown }); n >= 0 {
		t.Errorf("buyers had no answer, the first of them: %s", c.record.all()[n])
	}
	if n := restarted.Load(); n != 3 {
		t.Errorf("%d instances were restarted, want 3", n)
	}
	if e := s.check(t, c, units); e.liveRows() != units {
		t.Errorf("%d units sold, want all %d", e.liveRows(), units)
	}
}

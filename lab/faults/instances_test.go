package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"seckill/internal/checker"
	"seckill/internal/order"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// killedAfterTheScript kills an instance after Redis has admitted buyers and before the instance knows. The buyers get
// no answer, ask other instances, and are told their orders.
func killedAfterTheScript(r *run) {
	r.open(deployment{})
	r.load(48, 20*time.Millisecond)
	r.awaitAccepted(300)
	n := r.victim()
	r.killAt(n, r.proxies[n].redis, admissionAnswered())
	r.awaitAccepted(300)
	r.finish()
	r.expectAnswer("held")
	r.startAgain(n)
}

// killedAt kills an instance at a request of its recorder. The others take over the entries that it had read.
func killedAt(at testkit.Match) func(*run) {
	return func(r *run) {
		r.open(deployment{})
		r.load(48, 20*time.Millisecond)
		r.awaitAccepted(300)
		n := r.victim()
		r.killAt(n, r.proxies[n].mysql, at)
		r.awaitAccepted(300)
		r.finish() // by the other instances alone
		r.startAgain(n)
	}
}

// freeOrders kills an instance just before and just after a COMMIT that records free orders, which it also marks as
// paid: each has its line of history and its code exactly once, or no row yet.
func freeOrders(r *run) {
	r.open(deployment{free: true})
	r.load(48, 20*time.Millisecond)
	for _, at := range []testkit.Match{commitSent(), commitAnswered()} {
		r.awaitAccepted(200)
		n := r.victim()
		r.killAt(n, r.proxies[n].mysql, at)
		r.must(r.site.Servers[n].Start())
	}
	r.awaitAccepted(200)
	r.finish()
	var orders, paid, lines, codes int64
	r.must(r.site.Ledger.DB.QueryRowContext(r.Context(),
		`SELECT COUNT(*), COALESCE(SUM(status = 2 AND pay_time IS NOT NULL), 0),
		(SELECT COUNT(*) FROM tb_order_event e JOIN tb_voucher_order p ON p.id = e.order_id
			WHERE e.status = 2 AND p.voucher_id = o.voucher_id),
		(SELECT COUNT(DISTINCT c.code) FROM tb_coupon c WHERE c.voucher_id = o.voucher_id)
		FROM tb_voucher_order o WHERE voucher_id = ? GROUP BY voucher_id`, r.buyers.Voucher).Scan(&orders, &paid,
		&lines, &codes))
	if orders == 0 || paid != orders || lines != orders || codes != orders {
		r.Errorf("of %d free orders %d are paid, with %d lines of history and %d codes", orders, paid, lines, codes)
	}
}

// startAgain starts a killed instance again, which must change nothing.
func (r *run) startAgain(n int) {
	r.Helper()
	r.must(r.site.Servers[n].Start())
	r.awaitSettled()
}

// killedInTurn kills each of three instances in turn, and starts each again at once.
func killedInTurn(r *run) {
	r.open(deployment{units: 16000}) // a fast machine sells thousands while an instance starts
	r.load(48, 20*time.Millisecond)
	for _, srv := range r.site.Servers {
		r.awaitAccepted(200 + r.rand.IntN(200))
		r.must(srv.KillAndStart())
	}
	r.faultEnded()
	r.finish()
	r.expectAnswer("not sent")
}

// onlyOneKilled kills the only instance, three times: for a while there is no server.
func onlyOneKilled(r *run) {
	r.open(deployment{instances: 1, units: 16000})
	r.load(48, 20*time.Millisecond)
	for range 3 {
		r.awaitAccepted(200 + r.rand.IntN(200))
		r.must(r.site.Servers[0].KillAndStart())
	}
	r.faultEnded()
	r.finish()
	r.expectAnswer("not sent")
}

// killedInShort lets a few clients send two hundred requests for forty units while one of two instances is killed and
// started again.
func killedInShort(r *run) {
	r.open(deployment{instances: 2, units: 40})
	users := r.newUsers(100)
	r.buyers.Record.After(5+r.rand.IntN(30), func() {
		if err := r.site.Servers[r.victim()].KillAndStart(); err != nil {
			r.Error(err)
		}
		r.faultEnded()
	})
	r.buyers.BuyAll(r.Context(), 8, append(users, users...))
	r.checkLinearizable(r.finish())
}

// killAt waits for a request of an instance and kills the instance at it. The fault ends there, as the others must go
// on without it.
func (r *run) killAt(n int, proxy *testkit.Proxy, at testkit.Match) {
	r.Helper()
	b := proxy.Break(at)
	r.await("the request to fail at", b.Reached())
	r.must(r.site.Servers[n].Kill())
	b.Cut()
	r.faultEnded()
}

// expectAnswer fails the scenario if no buyer got this answer, since then the fault did not hit.
func (r *run) expectAnswer(kind string) {
	r.Helper()
	if counts := r.buyers.Record.Counts(); counts[kind] == 0 {
		r.Errorf("no answer was %q: %v", kind, counts)
	}
}

// rollingRestart restarts three instances in turn under full load, behind a balancer that polls /readyz: each exits
// with code 0, and every buyer gets an answer.
func rollingRestart(r *run) {
	r.open(deployment{units: 20_000, settings: map[string]string{"SECKILL_DRAIN_DELAY": "2s"}})
	r.buyers.Pick = box.NewBalancer(r, r.site.Servers).Pick
	r.load(64, 10*time.Millisecond)
	for _, srv := range r.site.Servers {
		r.awaitAccepted(500)
		code, err := srv.Terminate()
		r.must(err)
		if code != 0 {
			r.Errorf("%s ended with exit code %d", srv.Name, code)
		}
		r.must(srv.Start())
	}
	r.faultEnded()
	r.finish()
	if unknown := r.unknownAtOnce(); len(unknown) > 0 {
		r.Errorf("%d buyers got no answer, the first: %s", len(unknown), unknown[0])
	}
}

// unknownAtOnce returns the unknown outcomes. Where other programs use the machine too, it leaves out 504s after a try
// of the admission that Redis did not answer in time: its disk may be busy.
func (r *run) unknownAtOnce() []checker.Answer {
	return slices.DeleteFunc(r.buyers.Record.Answers(), func(a checker.Answer) bool {
		late := r.leeway() > 0 && strings.HasPrefix(a.Code, fmt.Sprint(http.StatusGatewayTimeout)) &&
			a.Received.Sub(a.Sent) >= order.AdmissionTimeout
		return a.Outcome != checker.Unknown || late
	})
}

package faults

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// envCrowds is "full" to use as many connections as the limit of open files allows.
const envCrowds = "SECKILL_TEST_CROWDS"

const (
	attackers   = 4   // processes
	quickCrowd  = 400 // connections
	crowdMargin = 700 // descriptors for everything except attackers: 500 that the service keeps, and buyers'
	// perConnection and perInstance bound the memory of an instance under attack.
	perConnection = 64 << 10
	perInstance   = 512 << 20
	// patience is how slow a purchase may be under attack, however fast it was before: attackers, buyers, stores and
	// the service share the processors here.
	patience = 5 * time.Second
)

// crowd returns how many connections all attackers have together.
func crowd() int {
	var files syscall.Rlimit
	if os.Getenv(envCrowds) != "full" || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return quickCrowd
	}
	return max(quickCrowd, int(min(files.Cur, 100_000))-crowdMargin) // 25,000 per source, which has 28,000 ports
}

// crowded lets buyers buy during an attack of one kind with that many connections; 0: as many as possible.
func crowded(kind string, connections int) func(*run) {
	return func(r *run) {
		r.open(deployment{instances: 1, units: 20_000})
		if kind == "readers" {
			r.fillShop(2, 240)
		}
		n := connections
		if n == 0 {
			n = crowd()
		}
		r.load(4, 2*time.Millisecond)
		r.awaitAccepted(500)
		alone := r.p99Since(time.Time{})
		began := time.Now()
		end := r.attack(kind, attackers, n)
		r.awaitAccepted(500)
		attacked := time.Now()
		r.awaitAccepted(500)
		r.operable(n)
		under := r.p99Since(attacked)
		r.Logf("%s: %d connections of %d processes, all open after %v; p99 of a purchase %v, alone %v",
			kind, n, attackers, attacked.Sub(began).Round(time.Millisecond), under, alone)
		if most := max(3*alone, patience); under > most {
			r.Errorf("under attack the p99 of a purchase is %v, want %v at most", under, most)
		}
		end()
		r.faultEnded()
		r.finish()
	}
}

// fillShop creates ordinary vouchers with texts of 4 KB each in a shop.
func (r *run) fillShop(shop, vouchers int) {
	r.Helper()
	for i := range vouchers {
		r.site.Client.Must(r, http.StatusCreated, box.Request{
			Method: http.MethodPost, URL: r.site.URL("/voucher"), Token: box.AdminToken(), Body: map[string]any{
				"shopId": shop, "title": "voucher " + strconv.Itoa(i), "rules": strings.Repeat("🎟", 1024),
				"payValue": 1000, "actualValue": 10000,
			},
		})
	}
}

// p99Since returns the latency of purchases that were sent since then, whether their first attempt was accepted or not.
func (r *run) p99Since(since time.Time) time.Duration {
	var took []time.Duration
	for _, a := range r.buyers.Record.Answers() {
		if a.Sent.After(since) {
			took = append(took, a.Received.Sub(a.Sent))
		}
	}
	if len(took) == 0 {
		r.Fatal("nobody bought")
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// operable fails the scenario unless operators can reach the instance, and its memory is bounded.
func (r *run) operable(connections int) {
	r.Helper()
	srv := r.site.Servers[0]
	for _, path := range []string{"/healthz", "/readyz"} {
		box.Eventually(r, path+" under attack", func() error { // a busy machine may keep a store from answering
			res, err := r.site.Client.Do(r.Context(), box.Request{Method: http.MethodGet, URL: srv.OpsURL(path)})
			if err == nil && res.StatusCode != http.StatusOK {
				err = fmt.Errorf("%d %s", res.StatusCode, res.Body)
			}
			return err
		})
	}
	memory := metric(r, srv.Metrics(r), "process_resident_memory_bytes ")
	if most := float64(perInstance + perConnection*connections); memory > most {
		r.Errorf("under attack the instance takes %.0f MB, want %.0f at most", memory/1e6, most/1e6)
	}
	r.Logf("under attack the instance takes %.0f MB", memory/1e6)
}

// metric returns the value of a series.
func metric(r *run, text, series string) float64 {
	r.Helper()
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, series); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			r.must(err)
			return n
		}
	}
	r.Fatalf("there is no metric %s", series)
	return 0
}

// readersOfALockedTable lets a crowd of readers and an admin's script read data that the ledger does not return,
// because another client has locked the table. Meanwhile buyers are accepted, and their orders recorded.
func readersOfALockedTable(r *run) {
	r.open(deployment{instances: 1, units: 20_000, settings: map[string]string{"SECKILL_MAX_IN_FLIGHT": "200"}})
	r.load(4, 2*time.Millisecond)
	r.awaitAccepted(500)
	conn, err := r.site.Ledger.DB.Conn(r.Context())
	r.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(r.Context(), "LOCK TABLES tb_voucher WRITE")
	r.must(err)
	endShops, endAdmins := r.attack("shops", 2, 200), r.attack("admins", 2, 200)
	r.awaitAccepted(500)
	r.awaitRecorded(len(r.buyers.Record.Winners()))
	metrics := r.site.Servers[0].Metrics(r)
	for _, series := range []string{
		`seckill_bulkhead_shed_total{class="purchase",resource="requests"} `,
		`seckill_bulkhead_shed_total{class="recording",resource="ledger"} `,
	} {
		if n := metric(r, metrics, series); n > 0 {
			r.Errorf("refused because of others: %s%.0f", series, n)
		}
	}
	_, err = conn.ExecContext(r.Context(), "UNLOCK TABLES")
	r.must(err)
	endShops()
	endAdmins()
	r.faultEnded()
	r.finish()
}

// awaitRecorded waits until n orders have rows.
func (r *run) awaitRecorded(n int) {
	r.Helper()
	deadline := time.Now().Add(r.settleWithin())
	for {
		var rows []checker.Order
		rows, err := r.site.Ledger.Orders(r.Context(), r.buyers.Voucher)
		r.must(err)
		if len(rows) >= n {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d of %d accepted orders were recorded within %v", len(rows), n, r.settleWithin())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

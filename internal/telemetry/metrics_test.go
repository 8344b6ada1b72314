package telemetry

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/order/recovery"
)

func newTestMetrics() *Metrics {
	return NewMetrics(Build{Version: "v1.2.3", Revision: "abc", Go: "go1.26"})
}

// used returns metrics in which every series has been used.
func used() *Metrics {
	m := newTestMetrics()
	m.Request(http.MethodPost, "/voucher/seckill/:id", http.StatusAccepted, "", time.Millisecond)
	m.Admitted([]gate.BatchResult{{Results: []gate.Result{{Outcome: gate.Accepted}, {Outcome: gate.SoldOut}}}},
		time.Millisecond, nil)
	m.Admitted(nil, time.Millisecond, order.ErrUnavailable)
	m.Recorded(3, 1, time.Millisecond)
	m.RecordRetried(errors.New("away"))
	m.Rejected()
	m.DeadLettered()
	m.Rebuilt(time.Millisecond, nil)
	m.SetBacklog(0, Backlog{7, time.Second, 1})
	m.OperationsApplied(2, 1, time.Millisecond, nil)
	m.OperationsApplied(0, 0, time.Millisecond, errors.New("away"))
	m.OutboxBehind(3)
	m.OrdersExpired(200, time.Millisecond)
	m.PaymentReceived(payment.Received)
	m.PaymentRefunded(nil)
	m.PaymentRefunded(errors.New("declined"))
	m.Audited([]audit.Balance{
		{VoucherID: 7, Finding: audit.Balanced, Redis: audit.Inventory{Mode: order.SaleOpen, Stock: 3}},
	}, 0, nil)
	m.RepairRequested()
	m.SalePaused()
	m.Locked(time.Millisecond)
	m.LockBusy()
	m.LockFailed()
	m.WatchLoad(func() (int64, int64, int64) { return 3, 2, 1 })
	m.WatchRepairs(recovery.NewRepairQueue().Load)
	m.Swept(nil)
	m.SetMissingInstances(1, 2)
	m.WatchConnections(func() (int64, int64) { return 5, 4 })
	m.WatchPools(func() []Pool {
		return []Pool{{Name: "redis", InUse: 2, Idle: 3, Waits: 4, Waited: 1500 * time.Millisecond, Timeouts: 1}}
	})
	m.WatchBulkheads(func() map[string][]bulkhead.Load {
		return map[string][]bulkhead.Load{
			"ledger": {{Class: bulkhead.PublicRead, InUse: 2, Waiting: 3, Most: 4, Shed: 5}},
		}
	})
	return m
}

func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := used()
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, f := range families {
		switch name := f.GetName(); {
		case strings.HasPrefix(name, "seckill_"):
			own++
		case !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_"):
			t.Errorf("%s has none of the prefixes", name)
		}
	}
	if own != 67 {
		t.Errorf("%d families of the service, want 67: is a new one not registered?", own)
	}
}

func TestPoolsAndLocks(t *testing.T) {
	t.Parallel()
	compare(t, used(), `
# HELP seckill_lock_refusals_total Locks that were not obtained: another instance had it and the caller does not wait (busy), or Redis was away (failed).
# TYPE seckill_lock_refusals_total counter
seckill_lock_refusals_total{reason="busy"} 1
seckill_lock_refusals_total{reason="failed"} 1
# HELP seckill_pool_connections Connections to a store that are open.
# TYPE seckill_pool_connections gauge
seckill_pool_connections{pool="redis",state="idle"} 3
seckill_pool_connections{pool="redis",state="in_use"} 2
# HELP seckill_pool_timeouts_total How often a caller gave up waiting for a connection.
# TYPE seckill_pool_timeouts_total counter
seckill_pool_timeouts_total{pool="redis"} 1
# HELP seckill_pool_wait_seconds_total Total time for which callers have waited for connections.
# TYPE seckill_pool_wait_seconds_total counter
seckill_pool_wait_seconds_total{pool="redis"} 1.5
# HELP seckill_pool_waits_total How often a caller had to wait for a connection.
# TYPE seckill_pool_waits_total counter
seckill_pool_waits_total{pool="redis"} 4
`, "seckill_lock_refusals_total", "seckill_pool_connections", "seckill_pool_timeouts_total",
		"seckill_pool_wait_seconds_total", "seckill_pool_waits_total")
	if n, _ := observed(t, used(), "seckill_lock_wait_seconds"); n != 1 {
		t.Errorf("%d locks waited for, want 1", n)
	}
}

func TestBulkheads(t *testing.T) {
	t.Parallel()
	compare(t, used(), `
# HELP seckill_bulkhead_in_use Requests in flight of a class of callers, or its connections to a store.
# TYPE seckill_bulkhead_in_use gauge
seckill_bulkhead_in_use{class="public_read",resource="ledger"} 2
# HELP seckill_bulkhead_limit The most that a class can have while the others use only their reserves.
# TYPE seckill_bulkhead_limit gauge
seckill_bulkhead_limit{class="public_read",resource="ledger"} 4
# HELP seckill_bulkhead_shed_total Callers of a class who were refused because its limit was reached; nothing was done for them.
# TYPE seckill_bulkhead_shed_total counter
seckill_bulkhead_shed_total{class="public_read",resource="ledger"} 5
# HELP seckill_bulkhead_waiting Callers of a class who wait for a connection.
# TYPE seckill_bulkhead_waiting gauge
seckill_bulkhead_waiting{class="public_read",resource="ledger"} 3
`, "seckill_bulkhead_in_use", "seckill_bulkhead_limit", "seckill_bulkhead_shed_total", "seckill_bulkhead_waiting")
}

func TestAdmitted(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	m.Admitted([]gate.BatchResult{
		{Results: []gate.Result{{Outcome: gate.Accepted}, {Outcome: gate.Accepted}}},
		{Err: fmt.Errorf("full: %w", order.ErrUnavailable)}, // of one sale
		{Results: []gate.Result{
			{Outcome: gate.AlreadyBought, OrderID: 9},
			{Outcome: gate.Backlogged},
			{Outcome: 99},
			{Outcome: gate.Unreadable},
		}},
	}, 3*time.Millisecond, nil)
	m.Admitted(nil, time.Millisecond, fmt.Errorf("dialing: %w", order.ErrUnavailable))
	m.Admitted(nil, time.Second, errors.New("no reply"))
	counted := map[string]int{"accepted": 2, "already_bought": 1, "backlogged": 1, "other": 2}
	var outcomes strings.Builder
	for _, o := range gate.Outcomes() {
		if o >= gate.Unreadable { // every outcome of a call has a series, even without events
			fmt.Fprintf(&outcomes, "seckill_admission_outcomes_total{outcome=%q} %d\n", o, counted[o.String()])
		}
	}
	compare(t, m, `
# HELP seckill_admission_errors_total Failed calls of the admission script: certainly without effect (unavailable), or perhaps not (unknown).
# TYPE seckill_admission_errors_total counter
seckill_admission_errors_total{effect="unavailable"} 2
seckill_admission_errors_total{effect="unknown"} 1
# HELP seckill_admission_outcomes_total Requests by what the admission script decided; those refused from the cache are in cache_refusals_total.
# TYPE seckill_admission_outcomes_total counter
`+outcomes.String(), "seckill_admission_errors_total", "seckill_admission_outcomes_total")
	if n, sum := observed(t, m, "seckill_admission_batch_size"); n != 1 || sum != 6 {
		t.Errorf("batch sizes: %d observations of %v in all, want 1 of 6: failed calls have no size", n, sum)
	}
	if n, sum := observed(t, m, "seckill_admission_duration_seconds"); n != 3 || math.Abs(sum-1.004) > 1e-9 {
		t.Errorf("durations: %d observations of %v s in all, want 3 of 1.004", n, sum)
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	m.Recorded(498, 2, 20*time.Millisecond)
	m.Recorded(0, 0, time.Millisecond) // an entry was delivered again: all of it was recorded before
	m.RecordRetried(errors.New("bad connection"))
	m.Rejected()
	m.DeadLettered()
	m.Rebuilt(time.Second, nil)
	m.Rebuilt(time.Second, errors.New("away"))
	m.Recovered(7, 3)
	m.SetBacklog(0, Backlog{1000, 1500 * time.Millisecond, 2})
	m.SetBacklog(1, Backlog{234, time.Second, 0})
	compare(t, m, `
# HELP seckill_dead_letters_waiting Dead letters that were not replayed or discarded yet; NaN when it is not known.
# TYPE seckill_dead_letters_waiting gauge
seckill_dead_letters_waiting 2
# HELP seckill_rebuilds_total Rebuilds of a sale in Redis from the ledger; those superseded by a newer one are not counted.
# TYPE seckill_rebuilds_total counter
seckill_rebuilds_total{result="failed"} 1
seckill_rebuilds_total{result="rebuilt"} 1
# HELP seckill_recorder_dead_letters_total Stream entries that could not be decoded and were set aside; each needs an operator.
# TYPE seckill_recorder_dead_letters_total counter
seckill_recorder_dead_letters_total 1
# HELP seckill_recorder_failed_orders_total Accepted orders that were recorded as failed, with a reason in their row.
# TYPE seckill_recorder_failed_orders_total counter
seckill_recorder_failed_orders_total 2
# HELP seckill_recorder_orders_total Accepted orders that were recorded as valid orders.
# TYPE seckill_recorder_orders_total counter
seckill_recorder_orders_total 498
# HELP seckill_recorder_rejected_orders_total Accepted orders that the ledger rejected for good; they are recorded as failed if it takes that.
# TYPE seckill_recorder_rejected_orders_total counter
seckill_recorder_rejected_orders_total 1
# HELP seckill_recorder_requeued_orders_total Accepted orders whose entries Redis had lost, and which a rebuild queued again.
# TYPE seckill_recorder_requeued_orders_total counter
seckill_recorder_requeued_orders_total 7
# HELP seckill_recorder_retries_total Recording steps that failed because of the infrastructure and were retried.
# TYPE seckill_recorder_retries_total counter
seckill_recorder_retries_total 1
# HELP seckill_recorder_unaccounted_orders_total Admissions that a rebuild found lost in Redis and whose orders no instance remembers.
# TYPE seckill_recorder_unaccounted_orders_total counter
seckill_recorder_unaccounted_orders_total 3
# HELP seckill_stream_backlog_entries Entries of accepted orders that wait for their rows, of all instances; while few wait, one may have up to 16 orders. NaN when it is not known.
# TYPE seckill_stream_backlog_entries gauge
seckill_stream_backlog_entries 1234
`, "seckill_rebuilds_total", "seckill_recorder_dead_letters_total", "seckill_recorder_failed_orders_total",
		"seckill_recorder_orders_total", "seckill_recorder_retries_total",
		"seckill_recorder_rejected_orders_total", "seckill_recorder_requeued_orders_total",
		"seckill_recorder_unaccounted_orders_total",
		"seckill_stream_backlog_entries", "seckill_dead_letters_waiting")
	if n, sum := observed(t, m, "seckill_recorder_batch_size"); n != 2 || sum != 500 {
		t.Errorf("batch sizes: %d observations of %v in all, want 2 of 500", n, sum)
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	m.OperationsApplied(248, 2, 3*time.Millisecond, nil)
	m.OperationsApplied(0, 0, time.Second, order.ErrUnavailable)
	m.OutboxBehind(3)
	m.OrdersExpired(200, 20*time.Millisecond)
	m.PaymentReceived(payment.Received)
	m.PaymentReceived(payment.Late)
	m.PaymentReceived(99)
	m.PaymentReceived(-1)
	m.PaymentRefunded(nil)
	m.PaymentRefunded(errors.New("away"))
	m.PaymentRefunded(errors.New("away"))
	m.PaymentRefunded(fmt.Errorf("declined: %w", &payment.RefusedError{}))
	m.PaymentsNeedStaff(payment.NeedStaff{Stuck: 3, Disputed: 2, Overdrawn: 1, FailedParts: 4}, nil)
	m.NoticeRefused(payment.RefusedTime)
	m.NoticeRefused("a reason that it does not know")
	m.NoticeIgnored()
	m.NoticeIgnored()
	compare(t, m, `
# HELP seckill_payments_notices_total Payment notices, repeated ones included, by the payment's state after them.
# TYPE seckill_payments_notices_total counter
seckill_payments_notices_total{state="closed"} 0
seckill_payments_notices_total{state="late"} 1
seckill_payments_notices_total{state="open"} 0
seckill_payments_notices_total{state="received"} 1
seckill_payments_notices_total{state="refunded"} 0
seckill_payments_notices_total{state="refunding"} 0
seckill_payments_notices_total{state="stuck"} 0
seckill_payments_notices_total{state="unknown"} 2
# HELP seckill_payments_refunds_total Attempts to refund a payment.
# TYPE seckill_payments_refunds_total counter
seckill_payments_refunds_total{result="failed"} 2
seckill_payments_refunds_total{result="refunded"} 1
seckill_payments_refunds_total{result="refused"} 1
# HELP seckill_payments_stuck Payments whose provider refuses for good to send the money back, and which nobody has retried or closed; NaN when it is not known.
# TYPE seckill_payments_stuck gauge
seckill_payments_stuck 3
# HELP seckill_payments_disputed Payments that a buyer disputes, undecided; NaN when it is not known.
# TYPE seckill_payments_disputed gauge
seckill_payments_disputed 2
# HELP seckill_payments_overdrawn Payments of which more money has gone back than came in; NaN when it is not known.
# TYPE seckill_payments_overdrawn gauge
seckill_payments_overdrawn 1
# HELP seckill_payments_failed_parts Refunds of a part that have failed, and to which nobody has seen; NaN when it is not known.
# TYPE seckill_payments_failed_parts gauge
seckill_payments_failed_parts 4
# HELP seckill_payments_notices_refused_total Notices of payment providers that were refused for good, by reason.
# TYPE seckill_payments_notices_refused_total counter
seckill_payments_notices_refused_total{reason="other"} 0
seckill_payments_notices_refused_total{reason="signature"} 0
seckill_payments_notices_refused_total{reason="time"} 1
seckill_payments_notices_refused_total{reason="too_large"} 0
seckill_payments_notices_refused_total{reason="unknown_payment"} 0
seckill_payments_notices_refused_total{reason="unknown_provider"} 0
seckill_payments_notices_refused_total{reason="unreadable"} 0
seckill_payments_notices_refused_total{reason="wrong_amount"} 0
# HELP seckill_payments_notices_ignored_total Notices of payment providers of types that do not concern this service.
# TYPE seckill_payments_notices_ignored_total counter
seckill_payments_notices_ignored_total 2
# HELP seckill_expirer_orders_total Orders that expired: they were not paid in time.
# TYPE seckill_expirer_orders_total counter
seckill_expirer_orders_total 200
# HELP seckill_outbox_failures_total Batches of operations that could not be applied or completed and are retried.
# TYPE seckill_outbox_failures_total counter
seckill_outbox_failures_total 1
# HELP seckill_outbox_operations_total Operations of sales that were completed, by Redis's result.
# TYPE seckill_outbox_operations_total counter
seckill_outbox_operations_total{result="applied"} 248
seckill_outbox_operations_total{result="refused"} 2
# HELP seckill_outbox_pending_sales Sales with operations that Redis has not applied yet, as of the last check, once a second.
# TYPE seckill_outbox_pending_sales gauge
seckill_outbox_pending_sales 3
`, "seckill_payments_notices_total", "seckill_payments_refunds_total", "seckill_payments_stuck",
		"seckill_payments_disputed", "seckill_payments_overdrawn", "seckill_payments_failed_parts",
		"seckill_payments_notices_refused_total", "seckill_payments_notices_ignored_total",
		"seckill_expirer_orders_total",
		"seckill_outbox_failures_total", "seckill_outbox_operations_total", "seckill_outbox_pending_sales")
	m.PaymentsNeedStaff(payment.NeedStaff{}, order.ErrUnavailable)
	for _, g := range []prometheus.Gauge{m.orders.stuck, m.orders.disputed} {
		if v := testutil.ToFloat64(g); !math.IsNaN(v) {
			t.Errorf("what could not be counted is %v, want NaN", v)
		}
	}
	for name, want := range map[string]uint64{
		"seckill_outbox_duration_seconds": 2, "seckill_expirer_duration_seconds": 1,
	} {
		if n, _ := observed(t, m, name); n != want {
			t.Errorf("%s: %d observations, want %d", name, n, want)
		}
	}
}

func TestBacklogIsUnknownUntilSet(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	if v := testutil.ToFloat64(m.recorder.backlog); !math.IsNaN(v) {
		t.Errorf("backlog of a new process is %v, want NaN", v)
	}
	for _, g := range []prometheus.Gauge{m.orders.stuck, m.orders.disputed} {
		if v := testutil.ToFloat64(g); !math.IsNaN(v) {
			t.Errorf("before payments were counted, those that need staff are %v, want NaN", v)
		}
	}
	m.SetBacklog(0, Backlog{3, time.Second, 1})
	m.SetBacklogUnknown(0)
	for _, g := range []prometheus.Gauge{m.recorder.backlog, m.recorder.waiting} {
		if v := testutil.ToFloat64(g); !math.IsNaN(v) {
			t.Errorf("after a failed read the backlog is %v, want NaN", v)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	var wg sync.WaitGroup
	for range 8 { // all create the same new series concurrently
		wg.Go(func() {
			m.Request(http.MethodPost, "/voucher/seckill/:id", http.StatusConflict, "SOLD_OUT", time.Millisecond)
		})
	}
	wg.Wait()
	m.Request(http.MethodPost, "/voucher/seckill/:id", http.StatusAccepted, "", time.Millisecond)
	m.Request("BREW", "", http.StatusNotFound, "NOT_FOUND", time.Millisecond)
	m.Request("BREW2", "", http.StatusNotFound, "NOT_FOUND", time.Millisecond)
	compare(t, m, `
# HELP seckill_http_requests_total HTTP requests answered; code is the error's, empty for a success.
# TYPE seckill_http_requests_total counter
seckill_http_requests_total{code="",method="POST",route="/voucher/seckill/:id",status="202"} 1
seckill_http_requests_total{code="NOT_FOUND",method="other",route="none",status="404"} 2
seckill_http_requests_total{code="SOLD_OUT",method="POST",route="/voucher/seckill/:id",status="409"} 8
`, "seckill_http_requests_total")
}

// TestCountingDoesNotAllocate is not parallel, because allocations are counted for the whole process.
func TestCountingDoesNotAllocate(t *testing.T) {
	m := used()
	outcomes := []gate.BatchResult{{Results: make([]gate.Result, 128)}, {Results: make([]gate.Result, 128)}}
	for name, count := range map[string]func(){
		"request": func() {
			m.Request(http.MethodPost, "/voucher/seckill/:id", http.StatusAccepted, "", time.Millisecond)
		},
		"admission": func() { m.Admitted(outcomes, time.Millisecond, nil) },
		"recording": func() { m.Recorded(500, 0, time.Millisecond) },
	} {
		if n := testing.AllocsPerRun(100, count); n > 0 {
			t.Errorf("%s: %v allocations each time, want none", name, n)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	m := used()
	extra := prometheus.NewCounter(prometheus.CounterOpts{Name: "extra_total", Help: "An extra."})
	if err := m.Register(extra); err != nil {
		t.Fatal(err)
	}
	if err := m.Register(extra); err == nil {
		t.Error("a collector was registered twice without an error")
	}
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(answer.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, body)
	}
	for _, want := range []string{
		`seckill_build_info{goversion="go1.26",revision="abc",version="v1.2.3"} 1`, "go_goroutines ",
		"process_start_time_seconds ", "extra_total 0",
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func compare(t *testing.T, m *Metrics, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// observed returns the count and the sum of a histogram without labels.
func observed(t *testing.T, m *Metrics, name string) (uint64, float64) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	t.Fatalf("no histogram %s", name)
	return 0, 0
}

func BenchmarkRequest(b *testing.B) {
	m := used()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Request(http.MethodPost, "/voucher/seckill/:id", http.StatusAccepted, "", time.Millisecond)
		}
	})
}

// The sums over all partitions are known only while every partition can be read.
func TestBacklogOfPartitions(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	sums := func(entries, oldest, dead float64) {
		t.Helper()
		for name, c := range map[string]struct {
			got  prometheus.Gauge
			want float64
		}{
			"entries": {m.recorder.backlog, entries}, "oldest": {m.recorder.oldest, oldest},
			"dead letters": {m.recorder.waiting, dead},
		} {
			if got := testutil.ToFloat64(c.got); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("%s are %v, want %v", name, got, c.want)
			}
		}
	}
	sums(math.NaN(), math.NaN(), math.NaN())
	m.SetBacklog(0, Backlog{5, 2 * time.Second, 1})
	m.SetBacklog(3, Backlog{7, time.Second, 2})
	sums(12, 2, 3)
	m.SetBacklogUnknown(0)
	sums(math.NaN(), 1, math.NaN())
	m.ForgetBacklog(0)
	sums(7, 1, 2)
	if n := testutil.CollectAndCount(m.partitions.entries); n != 1 {
		t.Errorf("%d partitions are shown, want 1", n)
	}
}

func TestMissingInstances(t *testing.T) {
	t.Parallel()
	m := newTestMetrics()
	m.SetMissingInstances(1, 2)
	m.SetMissingInstancesUnknown(2)
	if got := testutil.ToFloat64(m.partitions.missing.WithLabelValues("1")); got != 2 {
		t.Errorf("%v instances are missing in partition 1, want 2", got)
	}
	if got := testutil.ToFloat64(m.partitions.missing.WithLabelValues("2")); !math.IsNaN(got) {
		t.Errorf("%v instances are missing in partition 2, want NaN: it cannot be read", got)
	}
	m.ForgetMissingInstances(1)
	if n := testutil.CollectAndCount(m.partitions.missing); n != 1 {
		t.Errorf("%d partitions are shown, want 1", n)
	}
}

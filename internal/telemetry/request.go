package telemetry

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// requests counts HTTP requests.
type requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec

	// series holds the series of every combination seen so far. It is replaced, never modified, so that reading takes
	// no lock and no allocation. It has one entry per kind of answer of each route, a few hundred.
	series atomic.Pointer[map[requestKey]requestSeries]
	adding sync.Mutex
}

type requestKey struct {
	method, route, code string
	status              int
}

type requestSeries struct {
	total   prometheus.Counter
	seconds prometheus.Observer
}

func newRequests(in registry) *requests {
	r := &requests{
		total: in.counters("http", "requests_total",
			"HTTP requests answered; code is the error's, empty for a success.", "method", "route", "status", "code"),
		seconds: add(in, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: metric.Namespace, Subsystem: "http", Name: "request_duration_seconds",
			Help: "Time from a request's headers to the end of its answer.", Buckets: metric.Seconds(),
		}, []string{"method", "route"})),
	}
	r.series.Store(&map[requestKey]requestSeries{})
	return r
}

// Request counts an answered HTTP request. route is the matched pattern, such as /voucher/seckill/:id, or "" for none;
// code is the error's, such as SOLD_OUT, or "" for a success. Neither may come from the caller's input: the number of
// series would not be bounded.
func (m *Metrics) Request(method, route string, status int, code string, took time.Duration) {
	key := requestKey{knownMethod(method), route, code, status}
	s, ok := (*m.requests.series.Load())[key]
	if !ok {
		s = m.requests.add(key)
	}
	s.total.Inc()
	s.seconds.Observe(took.Seconds())
}

// add creates the series of a new combination.
func (r *requests) add(key requestKey) requestSeries {
	r.adding.Lock()
	defer r.adding.Unlock()
	route := key.route
	if route == "" {
		route = "none"
	}
	s := requestSeries{ // the existing ones if another goroutine was faster
		total:   r.total.WithLabelValues(key.method, route, strconv.Itoa(key.status), key.code),
		seconds: r.seconds.WithLabelValues(key.method, route),
	}
	next := maps.Clone(*r.series.Load())
	next[key] = s
	r.series.Store(&next)
	return s
}

// knownMethod returns the method, or "other" for one that a caller made up.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

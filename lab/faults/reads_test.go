package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"seckill/test/box"
)

// answerWithin is how long a read or a repeated purchase may take while a store hangs. The service's own limits are
// below a second; the rest is for busy machines. Without those limits it would take as long as a query may, five
// seconds and more.
const answerWithin = 3 * time.Second

// The requests of an asker.
const (
	askedAgain   = "a repeated purchase"
	askedOrder   = "an order"
	askedOrders  = "my orders"
	askedList    = "a list"
	askedVoucher = "a voucher"
)

// asker sends the requests of winners and of onlookers, until it is stopped.
type asker struct {
	r       *run
	winners [][2]int64 // user, order

	asking sync.WaitGroup
	end    chan struct{}
	mu     sync.Mutex
	counts map[string]int // answers by request and status: "an order: 200"
	quick  int            // answers within a second
	all    int
	slow   []string // answers that took longer than answerWithin
	wrong  []string
}

// ask lets each of n winners ask for their order in every way, and n others look at the shop, with pauses up to the
// given one, until the returned asker is stopped.
func (r *run) ask(n int, pause time.Duration) *asker {
	a := &asker{r: r, end: make(chan struct{}), counts: map[string]int{}}
	for user, order := range r.buyers.Record.Winners() {
		if len(a.winners) < n {
			a.winners = append(a.winners, [2]int64{user, order})
		}
	}
	for i, w := range a.winners {
		a.asking.Go(func() { a.repeat(r.Context(), i, w, pause) })
	}
	return a
}

func (a *asker) repeat(ctx context.Context, i int, w [2]int64, pause time.Duration) {
	srv := a.r.site.Servers[i%len(a.r.site.Servers)]
	user, order, voucher := w[0], strconv.FormatInt(w[1], 10), strconv.FormatInt(a.r.buyers.Voucher, 10)
	for {
		for _, q := range []struct{ what, method, path, want string }{
			{askedAgain, http.MethodPost, "/voucher/seckill/" + voucher, `"orderId":"` + order + `"`},
			{askedOrder, http.MethodGet, "/order/" + order, ""},
			{askedOrders, http.MethodGet, "/order?limit=5", ""},
			{askedList, http.MethodGet, "/voucher/list/1?limit=50", `"id":` + voucher + `,`},
			{askedVoucher, http.MethodGet, "/voucher/" + voucher, `"id":` + voucher + `,`},
		} {
			start := time.Now()
			request := box.Request{Method: q.method, URL: srv.URL(q.path), Token: box.BuyerToken(user)}
			got, err := a.r.site.Client.Do(ctx, request)
			if errors.Is(err, io.EOF) {
				// A server closes a connection on which nothing was sent for five seconds. Clients open such ones when
				// many requests start at once; Go's client then repeats the request by itself, except a POST.
				got, err = a.r.site.Client.Do(ctx, request)
			}
			if ctx.Err() != nil {
				return
			}
			a.judge(q.what, q.want, got, err, time.Since(start))
		}
		select {
		case <-a.end:
			return
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// judge counts an answer, and notes a slow or wrong one: a fault of the service, not found, or without what is certain.
func (a *asker) judge(what, want string, got box.Reply, err error, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[fmt.Sprintf("%s: %d", what, got.StatusCode)]++
	a.all++
	if took <= time.Second {
		a.quick++
	}
	unavailable := got.StatusCode == http.StatusServiceUnavailable
	unknown := got.StatusCode == http.StatusGatewayTimeout && what == askedAgain // Redis was killed during the request
	switch {
	case err != nil:
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %v", what, err))
	case got.StatusCode == http.StatusInternalServerError:
		a.wrong = append(a.wrong, fmt.Sprintf("%s is answered %d: %s", what, got.StatusCode, got.Body))
	case got.StatusCode == http.StatusNotFound:
		a.wrong = append(a.wrong, fmt.Sprintf("%s is not found: %s", what, got.Body))
	case took > answerWithin:
		a.slow = append(a.slow, fmt.Sprintf("%s took %v", what, took.Round(time.Millisecond)))
	case !unavailable && !unknown && want != "" && !strings.Contains(string(got.Body), want):
		a.wrong = append(a.wrong, fmt.Sprintf("%s lacks %s: %d %.200s", what, want, got.StatusCode, got.Body))
	case unavailable && got.Header.Get("Retry-After") == "":
		a.wrong = append(a.wrong, fmt.Sprintf("%s: 503 without Retry-After", what))
	}
}

// stop stops the requests and fails the scenario for wrong answers.
func (a *asker) stop() {
	a.r.Helper()
	close(a.end)
	a.r.await("the answer to the last who asked", closedAfter(&a.asking))
	a.r.Logf("%d winners asked, %.2f %% answered within a second: %v",
		len(a.winners), 100*float64(a.quick)/float64(max(1, a.all)), a.counts)
	if len(a.winners) == 0 {
		a.r.Error("no winner asked")
	}
	// A busy machine can suspend a process for seconds. Without the limits at least a fifth of the answers would be
	// slow.
	if n := len(a.slow); n > a.all/10 {
		a.r.Errorf("%d of %d answers are slow, such as %q", n, a.all, a.slow[:min(n, 5)])
	}
	if n := len(a.wrong); n > 0 {
		a.r.Errorf("%d answers are wrong, such as %q", n, a.wrong[:min(n, 5)])
	}
}

// answered returns how often a request got the status.
func (a *asker) answered(what string, status int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[fmt.Sprintf("%s: %d", what, status)]
}

// mysqlHangs stops MySQL while winners ask again, readers look, and buyers buy. All get answers, and the rows follow
// later.
func mysqlHangs(winners int, pause time.Duration) func(*run) {
	return func(r *run) {
		r.open(deployment{units: 12_000})
		r.load(16, 100*time.Millisecond)
		r.awaitAccepted(200 + winners)
		warm := r.ask(min(winners, 30), 50*time.Millisecond) // so that every instance has been asked before
		<-time.After(time.Second)
		warm.stop()
		alone := r.p99Since(time.Time{})
		hung := time.Now()
		r.mysql.Pause()
		asking := r.ask(winners, 200*time.Millisecond)
		r.awaitAccepted(50)
		<-time.After(pause)
		r.awaitAccepted(50)
		asking.stop()
		r.Logf("p99 of a purchase %v, before %v", r.p99Since(hung), alone)
		for what, status := range map[string]int{
			askedAgain: http.StatusConflict, askedList: http.StatusOK, askedVoucher: http.StatusOK,
			askedOrders: http.StatusOK,
		} {
			if asking.answered(what, status) == 0 {
				r.Errorf("%s was never answered %d", what, status)
			}
		}
		r.mysql.Resume()
		r.faultEnded()
		r.finish()
	}
}

// winnersPoll empties Redis, swaps it away and back, and restarts it, while winners poll their orders: none of them is
// ever not found. The sale's row is locked, because an order that gets its row at once would prove nothing.
func winnersPoll(r *run) {
	r.rebuilt = true
	r.within = time.Minute
	r.open(deployment{})
	r.load(16, 50*time.Millisecond)
	for _, fault := range []func(){
		func() { r.must(r.site.Redis.FlushAll(r.Context()).Err()) },
		func() { r.must(r.site.Redis.Do(r.Context(), "SWAPDB", 0, 1).Err()) },
		func() { r.must(r.site.Redis.Do(r.Context(), "SWAPDB", 0, 1).Err()) },
		func() { r.redis.Kill(); r.redis.Start() },
	} {
		r.awaitAccepted(100)
		release := r.site.Ledger.LockSale(r, r.buyers.Voucher)
		r.awaitAccepted(50) // these wait
		asking := r.ask(1<<20, 100*time.Millisecond)
		fault()
		<-time.After(2 * time.Second)
		release()
		<-time.After(2 * time.Second)
		asking.stop()
		r.faultEnded()
	}
	r.awaitAccepted(50)
	r.finish()
}

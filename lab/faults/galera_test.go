package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// galeraNodesLost sells on a Galera cluster of three writable nodes, one for each instance, after all instances have
// migrated its empty schema at once, each at its own node. One node is killed and started again; then the cluster loses
// its majority, and regains it.
func galeraNodesLost(r *run) {
	r.openGalera(deployment{units: 16_000})
	r.load(8, 60*time.Millisecond) // units must be left at the end, which takes a minute and more on a busy machine
	r.awaitAccepted(300)
	r.galeraNodeKilled(200)
	r.awaitAccepted(100)
	r.galeraMajorityLost()
	r.awaitAccepted(100)
	r.finish()
	r.expectNever500()
}

// openGalera is open, on a Galera cluster with a node for each instance. The test reads from the first node.
func (r *run) openGalera(on deployment) {
	r.Helper()
	on = on.withDefaults()
	r.galera = testkit.StartGalera(r, on.instances, galeraConf)
	r.Logf("MariaDB %s", r.galera.Version)
	r.mysql = r.galera.Nodes[0]
	r.redis = testkit.StartRedis(r, on.redis...)
	r.site = box.EmptySite(r, r.redis.Addr, "", r.mysql.DSN("seckill"))
	for _, node := range r.galera.Nodes {
		p := proxyPair{testkit.NewProxy(r, r.redis.Addr), testkit.NewProxy(r, node.Addr)}
		r.proxies = append(r.proxies, p)
		r.site.Add(r, p.redis.Addr, throughProxy(r, node.MariaDB.DSN("seckill"), p.mysql), on.settings)
	}
	r.start(on)
}

// galeraNodeKilled kills a node at a COMMIT, and starts it again once n more purchases are accepted. Its instance goes
// on accepting orders, and the others record them.
func (r *run) galeraNodeKilled(n int) {
	r.Helper()
	victim := 1 + r.rand.IntN(len(r.galera.Nodes)-1)
	b := r.proxies[victim].mysql.Break(commitSent())
	r.await("a commit", b.Reached())
	r.galera.Nodes[victim].Kill()
	b.Cut()
	killed := time.Now()
	var orders []int64
	for _, user := range r.newUsers(20) {
		a := r.buyers.Buy(r.Context(), r.site.Servers[victim], user)
		if a.Outcome != checker.Accepted {
			r.Errorf("the instance whose node is dead answers: %s; want an order", a)
		}
		orders = append(orders, a.Order)
	}
	r.awaitRows(orders)
	r.Logf("what the instance of the dead node accepted is recorded %v after the kill",
		time.Since(killed).Round(time.Millisecond))
	r.awaitAccepted(n)
	started := time.Now()
	r.galera.Nodes[victim].Start()
	r.awaitWhole()
	r.faultEnded()
	r.Logf("the node is back after %v", time.Since(started).Round(time.Millisecond))
}

// galeraMajorityLost stops all nodes but the first. That one then refuses everything to its instance, while the other
// instances' nodes hang. Buyers are accepted; requests that need MySQL get 503, or the last known state.
func (r *run) galeraMajorityLost() {
	r.Helper()
	warm := r.ask(30, 50*time.Millisecond) // so that every instance has been asked before
	<-time.After(time.Second)
	warm.stop()
	for _, node := range r.galera.Nodes[1:] {
		node.Pause()
	}
	asking := r.ask(30, 200*time.Millisecond)
	r.awaitLogged("Error 1047", r.logged("Error 1047")+3) // no majority
	for _, srv := range r.site.Servers {
		r.awaitAnswer(srv, "/readyz", `"status":"degraded"`)
		r.awaitAnswer(srv, "/voucher/list/1?limit=50", `"stale":true`)
		r.expectNoVoucher(srv)
	}
	r.awaitAccepted(200)
	asking.stop()
	resumed := time.Now()
	for _, node := range r.galera.Nodes[1:] {
		node.Resume()
	}
	r.awaitWhole()
	r.faultEnded()
	r.Logf("the cluster is whole %v after its nodes go on", time.Since(resumed).Round(time.Millisecond))
	for _, srv := range r.site.Servers {
		r.awaitAnswer(srv, "/readyz", `"status":"ready"`)
	}
}

// awaitWhole waits until every node sees all others.
func (r *run) awaitWhole() {
	r.Helper()
	box.Eventually(r, "a cluster of all nodes", func() error {
		for i := range r.galera.Nodes {
			size, err := r.galera.Size(r.Context(), i)
			if err != nil {
				return err
			}
			if size != len(r.galera.Nodes) {
				return fmt.Errorf("node %d sees %d nodes", i+1, size)
			}
		}
		return nil
	})
}

// awaitRows waits until all orders have their rows.
func (r *run) awaitRows(orders []int64) {
	r.Helper()
	box.Eventually(r, "rows of all orders", func() error {
		rows, err := r.site.Ledger.Orders(r.Context(), r.buyers.Voucher)
		if err != nil {
			return err
		}
		for _, id := range orders {
			if !slices.ContainsFunc(rows, func(o checker.Order) bool { return o.ID == id }) {
				return fmt.Errorf("order %d has none", id)
			}
		}
		return nil
	})
}

// awaitAnswer waits until a path's answer is 200 and contains the words.
func (r *run) awaitAnswer(srv *box.Server, path, words string) {
	r.Helper()
	box.Eventually(r, srv.Name+" answering "+words, func() error {
		got, err := r.site.Client.Do(r.Context(), box.Request{Method: http.MethodGet, URL: srv.URL(path)})
		if err == nil && (got.StatusCode != http.StatusOK || !strings.Contains(string(got.Body), words)) {
			err = fmt.Errorf("%s is answered %d: %.300s", path, got.StatusCode, got.Body)
		}
		return err
	})
}

// expectNoVoucher fails the scenario unless creating a voucher is answered 503.
func (r *run) expectNoVoucher(srv *box.Server) {
	r.Helper()
	got, err := r.site.Client.Do(r.Context(), box.Request{
		Method: http.MethodPost, URL: srv.URL("/voucher/seckill"), Token: box.AdminToken(),
		Body: box.SeckillDraft(2, 10, time.Now(), time.Now().Add(time.Hour)),
	})
	r.must(err)
	if got.StatusCode != http.StatusServiceUnavailable {
		r.Errorf("%s answers a new voucher %d: %s, want 503", srv.Name, got.StatusCode, got.Body)
	}
}

// expectNever500 fails the scenario if a buyer was answered 500.
func (r *run) expectNever500() {
	r.Helper()
	answers := r.buyers.Record.Answers()
	if n := slices.IndexFunc(answers, func(a checker.Answer) bool {
		return strings.HasPrefix(a.Code, strconv.Itoa(http.StatusInternalServerError))
	}); n >= 0 {
		r.Errorf("a buyer was answered 500: %s", answers[n])
	}
}

package faults

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"seckill/internal/checker"
	"seckill/test/box"
)

// Scenarios in which stores are restored from copies of different moments. Before MySQL is, all instances are stopped,
// as docs/runbook.md says: what they remember is of the ledger as it was.

// copyOf keeps a store's files; the store is stopped. restore puts them back.
type copyOf struct {
	r         *run
	dir, kept string
}

func (r *run) keep(dir string) copyOf {
	r.Helper()
	c := copyOf{r, dir, filepath.Join(r.TempDir(), "copy")}
	c.copy(dir, c.kept)
	return c
}

func (c copyOf) restore() { c.copy(c.kept, c.dir) }

// copy replaces a folder by another with the same owners.
func (c copyOf) copy(from, to string) {
	c.r.Helper()
	for _, args := range [][]string{{"rm", "-rf", to}, {"cp", "-a", from, to}} {
		if out, err := exec.CommandContext(c.r.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			c.r.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

func (r *run) keepMySQL() copyOf {
	r.mysql.Stop()
	c := r.keep(filepath.Join(r.mysql.Dir, "data"))
	r.mysql.Start()
	return c
}

func (r *run) keepRedis() copyOf {
	r.redis.Stop()
	c := r.keep(filepath.Join(r.redis.Dir, "appendonlydir"))
	r.redis.Start()
	return c
}

// stopped stops all instances, does something, and starts them again.
func (r *run) stopped(do func()) {
	r.Helper()
	for _, s := range r.site.Servers {
		if code, err := s.Terminate(); err != nil || code != 0 {
			r.Fatalf("exit code %d, %v", code, err)
		}
	}
	do()
	for _, s := range r.site.Servers {
		r.must(s.Start())
	}
}

// buy lets n new users buy, and waits until all orders have their rows.
func (r *run) buy(b *box.Buyers, n int) []int64 {
	r.Helper()
	users := r.newUsers(n)
	b.BuyAll(r.Context(), 16, users)
	box.Eventually(r, "the last row", func() error {
		waiting, pending, err := r.site.Redis.Backlog(r.Context())
		if err == nil && waiting+pending > 0 {
			err = fmt.Errorf("%d entries wait, %d are pending", waiting, pending)
		}
		return err
	})
	return users
}

// reconciled runs the command with all instances stopped, and returns what it says. It finds something.
func (r *run) reconciled() string {
	r.Helper()
	got := box.Command(r, r.site.Servers[0].Settings, "reconcile", "-orders")
	if got.Code != 3 {
		r.Errorf("reconcile: exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	return got.Stdout
}

// mysqlRestored restores MySQL from before a part of the orders of one sale, and from before another sale was created.
// The orders of the first come back from Redis. Those of the other are gone, and the voucher that gets its id has
// nothing of it.
func mysqlRestored(r *run) {
	const first, later, lost = 300, 200, 50
	r.rebuilt = true
	r.open(deployment{units: 2000})
	r.buy(r.buyers, first)
	backup := r.keepMySQL()
	r.buy(r.buyers, later)
	gone := r.site.Buyers(r.createSale(100, nil))
	users := r.buy(gone, lost)
	r.stopped(func() {
		r.mysql.Stop()
		backup.restore()
		r.mysql.Start()
		said := r.reconciled()
		if n := strings.Count(said, "a rebuild records it anew"); n != later {
			r.Errorf("%d orders are said to come back, want %d", n, later)
		}
		if n := strings.Count(said, "it is gone"); n != lost {
			r.Errorf("%d orders are said to be gone, want %d", n, lost)
		}
	})
	r.faultEnded()
	again := r.site.Buyers(r.createSale(100, nil))
	if again.Voucher != gone.Voucher {
		r.Fatalf("voucher %d is created in the place of voucher %d", again.Voucher, gone.Voucher)
	}
	again.BuyAll(r.Context(), 16, users[:lost/2])
	r.finish()
	r.site.Check(r, again, 100)
	r.expectGone(gone, users)
	r.expectDifferentIDs(r.buyers, gone, again)
}

// redisRestored restores Redis from before a part of the orders, under the ledger that has all of them.
func redisRestored(r *run) {
	r.rebuilt = true
	r.open(deployment{units: 2000})
	r.buy(r.buyers, 300)
	backup := r.keepRedis()
	r.buy(r.buyers, 200)
	r.redis.Stop()
	backup.restore()
	r.redis.Start()
	r.faultEnded()
	r.buy(r.buyers, 100)
	r.finish()
	r.expectDifferentIDs(r.buyers)
}

// bothRestored restores both stores, MySQL from an earlier moment than Redis. The orders in between come back, and
// those after both moments are gone, with the instances that remembered them.
func bothRestored(r *run) {
	const first, later, lost = 300, 200, 50
	r.rebuilt, r.loss = true, true
	r.open(deployment{units: 2000})
	r.buy(r.buyers, first)
	ledger := r.keepMySQL()
	r.buy(r.buyers, later)
	redis := r.keepRedis()
	r.buy(r.buyers, lost)
	r.stopped(func() {
		r.mysql.Stop()
		r.redis.Stop()
		ledger.restore()
		redis.restore()
		r.mysql.Start()
		r.redis.Start()
		if n := strings.Count(r.reconciled(), "a rebuild records it anew"); n != later {
			r.Errorf("%d orders are said to come back, want %d", n, later)
		}
	})
	r.faultEnded()
	r.finish()
	if r.result.lost != lost {
		r.Errorf("%d orders are lost, want the %d that neither copy has", r.result.lost, lost)
	}
	r.expectDifferentIDs(r.buyers)
}

// expectGone expects that users are told of no order of a lost voucher.
func (r *run) expectGone(gone *box.Buyers, users []int64) {
	r.Helper()
	for _, user := range users {
		id := gone.Record.Winners()[user]
		reply := r.site.Client.Patient(r, box.Request{
			Method: http.MethodGet, URL: r.site.URL(fmt.Sprintf("/order/%d", id)), Token: box.BuyerToken(user),
		})
		if reply.StatusCode != http.StatusNotFound {
			r.Errorf("order %d of user %d, of a lost voucher: %d %s; want 404", id, user, reply.StatusCode, reply.Body)
		}
	}
}

// expectDifferentIDs expects that no order id was given twice, in all sales and before and after the restore.
func (r *run) expectDifferentIDs(all ...*box.Buyers) {
	r.Helper()
	owner := map[int64]string{}
	for _, b := range all {
		for _, a := range b.Record.Answers() {
			if a.Outcome != checker.Accepted {
				continue
			}
			name := fmt.Sprintf("user %d of voucher %d", a.User, b.Voucher)
			if before, twice := owner[a.Order]; twice && before != name {
				r.Errorf("order %d was given to %s and to %s", a.Order, before, name)
			}
			owner[a.Order] = name
		}
	}
	if len(owner) == 0 {
		r.Error("no order was given")
	}
}

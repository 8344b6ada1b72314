package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// rig is the service on its own stores, behind proxies that can break, with an open sale.
type rig struct {
	testing.TB
	*box.Site

	store         *testkit.RedisServer
	toRedis, toDB []*testkit.Proxy // one of each per instance
	sale          int64
	user          atomic.Int64 // the last user who has asked
}

// deployment is how the service runs.
type deployment struct {
	instances int // default: 1
	settings  map[string]string
	sale      map[string]any // fields in addition to those of a valid sale
}

// units is the sale's stock: more than are sold.
const units = 1_000_000

// newRig starts the service.
func newRig(tb testing.TB, d deployment) *rig {
	tb.Helper()
	r := &rig{TB: tb, store: testkit.StartRedis(tb, "--appendonly", "yes")}
	dsn := testkit.MySQL(tb)
	r.Site = box.EmptySite(tb, r.store.Addr, "", dsn)
	c, err := mysql.ParseDSN(dsn)
	r.must(err)
	server := c.Addr
	for range max(1, d.instances) {
		toRedis, toDB := testkit.NewProxy(tb, r.store.Addr), testkit.NewProxy(tb, server)
		r.toRedis, r.toDB = append(r.toRedis, toRedis), append(r.toDB, toDB)
		c.Addr = toDB.Addr
		r.Add(tb, toRedis.Addr, c.FormatDSN(), d.settings)
	}
	r.Start(tb)
	r.sale = r.create(d.sale)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// create creates an open sale, with additional fields. It retries while no partition can take the sale.
func (r *rig) create(more map[string]any) int64 {
	r.Helper()
	body := box.SeckillDraft(1, units, time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour))
	maps.Copy(body, more)
	v := box.Decode[box.Voucher](r, r.admin(http.StatusCreated, "/voucher/seckill", body))
	r.AwaitState(r, v.ID, "on_sale")
	return v.ID
}

// ask sends a request to an instance; it returns the zero Reply if there is no answer.
func (r *rig) ask(instance int, method, path, token string) box.Reply {
	a, err := r.Client.Do(r.Context(), box.Request{Method: method, URL: r.Servers[instance].URL(path), Token: token})
	if err != nil {
		return box.Reply{} // because of the fault, or the end of the test
	}
	return a
}

// admin sends an admin's POST and expects the status.
func (r *rig) admin(want int, path string, body any) box.Reply {
	r.Helper()
	return r.Client.Must(r, want,
		box.Request{Method: http.MethodPost, URL: r.URL(path), Token: box.AdminToken(), Body: body})
}

// buyAt lets the next user buy at an instance; wait is how long they wait for their row.
func (r *rig) buyAt(instance int, wait time.Duration) (user int64, a box.Reply) {
	user = r.user.Add(1)
	path := fmt.Sprintf("/voucher/seckill/%d", r.sale)
	if wait > 0 {
		path += "?wait=" + wait.String()
	}
	return user, r.ask(instance, http.MethodPost, path, box.BuyerToken(user))
}

// buy lets the next user buy.
func (r *rig) buy() { r.buyAt(0, 0) }

// orderOf returns the order in the answer to a purchase; "" if there is none.
func orderOf(a box.Reply) string {
	var placed box.Placed
	_ = json.Unmarshal(a.Data, &placed) // a refusal has no order
	return placed.OrderID
}

// pay pays for an order, and returns the sandbox's answer.
func (r *rig) pay(user int64, order string) box.Reply {
	var begun struct{ PayURL string }
	if err := json.Unmarshal(r.ask(0, http.MethodPost, "/order/"+order+"/pay", box.BuyerToken(user)).Data,
		&begun); err != nil {
		return box.Reply{} // no answer
	}
	return r.ask(0, http.MethodPost, begun.PayURL, "")
}

// changeMind lets one user buy, pay, and ask for a refund, and another one buy and cancel. The caller sees in the
// metrics how much of that succeeded.
func (r *rig) changeMind() {
	user, a := r.buyAt(0, 10*time.Second)
	if order := orderOf(a); order != "" {
		r.pay(user, order)
		r.ask(1, http.MethodPost, "/order/"+order+"/refund", box.BuyerToken(user))
	}
	user, a = r.buyAt(1, 10*time.Second)
	if order := orderOf(a); order != "" {
		r.ask(0, http.MethodPost, "/order/"+order+"/cancel", box.BuyerToken(user))
	}
}

// meanwhile calls do periodically, in several goroutines, until the test ends.
func (r *rig) meanwhile(every time.Duration, callers int, do func()) {
	for range callers {
		done := make(chan struct{})
		ctx := r.Context()
		go func() {
			defer close(done)
			again := time.NewTicker(every)
			defer again.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-again.C:
					do()
				}
			}
		}()
		r.Cleanup(func() { <-done })
	}
}

// exec runs a statement directly in the database.
func (r *rig) exec(statement string, args ...any) {
	r.Helper()
	_, err := r.Ledger.DB.ExecContext(r.Context(), statement, args...)
	r.must(err)
}

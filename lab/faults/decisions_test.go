package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"seckill/test/box"
)

// wayBack is what follows once the ledger has lost a sale's last operations.
type wayBack int

const (
	quiet  wayBack = iota // nothing: Redis has a higher number than the ledger
	reused                // the lost numbers are given to other operations, before any instance looks
	busy                  // orders are cancelled and expire
)

// decided is a sale about which a person decides something that the ledger then loses.
type decided struct {
	name    string
	voucher int64
	way     wayBack
	decide  func()      // nil: nothing is decided
	press   bool        // a person pauses it first of all, when the ledger has gone back
	sells   bool        // it goes on selling
	off     atomic.Bool // nothing of it may be sold from now on
	sold    atomic.Int64
	soldOff atomic.Int64  // while it was off
	orders  []box.Request // to cancel them
}

// lost reports whether a decision about the sale is lost.
func (d *decided) lost() bool { return d.decide != nil }

// decisionsLost has the ledger go back by what people decided in its last moments, while the instances run: as in a
// failover to a server that lagged behind. Orders are cancelled before, so that there are numbers to lose; afterwards
// nothing comes, or the lost numbers are given again, or orders are cancelled and expire. A sale that somebody had
// taken off sells nothing: it is paused and says why. Sales that lost cancellations alone, and those that nobody
// touched, go on; a person who pauses one of them is obeyed.
func decisionsLost(r *run) {
	r.rebuilt = true
	r.open(deployment{units: 400})
	r.awaitLogged("from now on operations get them", len(r.site.Servers))
	sales := r.salesToDecide(r.sized(20, 2))
	r.ordered(sales)
	cancelEach(r, sales, 0, 1)
	backup := r.keepMySQL()
	cancelEach(r, sales, 1, 3)
	for _, d := range sales {
		if d.lost() {
			d.decide()
		}
	}
	r.awaitApplied(sales)
	r.mysql.Stop()
	backup.restore()
	r.signalAll(syscall.SIGSTOP)
	r.mysql.Start()
	r.giveAgain(sales)
	r.signalAll(syscall.SIGCONT)
	endPressing := r.pressIn(sales)
	for _, d := range sales {
		if d.press {
			r.pauseNow(d)
		}
	}
	cancelEach(r, sales, 3, 6)
	r.expectPaused(sales)
	endPressing()
	for _, d := range sales {
		if n := d.soldOff.Load(); n > 0 {
			r.Errorf("%s: %d units were sold after it had been taken off sale", d.name, n)
		}
		if d.sells && d.sold.Load() == 0 {
			r.Errorf("%s: nothing was sold", d.name)
		}
	}
	r.faultEnded()
	r.finish()
}

func (r *run) signalAll(signal syscall.Signal) {
	r.Helper()
	for _, s := range r.site.Servers {
		_, err := s.Signal(signal)
		r.must(err)
	}
}

// salesToDecide creates the sales. For each way there are as many as tries for each decision that takes a sale off, and
// two for each other decision.
func (r *run) salesToDecide(tries int) (sales []*decided) {
	r.Helper()
	for way, word := range []string{"quiet", "reused", "busy"} {
		for name, n := range map[string]int{
			"called off": tries, "paused": tries, "pressed": tries, "stock": 2, "window": 2, "shelf": 2, "cancelled": 2,
		} {
			for range n {
				sales = append(sales, &decided{name: name + ", " + word, way: wayBack(way), press: name == "pressed"})
			}
		}
	}
	sales = append(sales, &decided{name: "untouched"})
	ids := r.insertSales(len(sales), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for i, d := range sales {
		d.voucher = ids[i]
		what, _, _ := strings.Cut(d.name, ",")
		d.decide = r.decision(what, d.voucher)
		d.sells = what == "cancelled" || what == "untouched"
		d.off.Store(what == "called off" || what == "paused" || what == "shelf")
	}
	return sales
}

// decision returns what a person does to a sale; nil for nothing.
func (r *run) decision(what string, id int64) func() {
	send := func(method, path string, body any) func() {
		return func() {
			r.Helper()
			reply, err := r.asAdmin(method, fmt.Sprintf(path, id), body)
			if err != nil || reply.StatusCode/100 != 2 {
				r.Fatalf("%s of sale %d: %d %s, %v", what, id, reply.StatusCode, reply.Body, err)
			}
		}
	}
	switch what {
	case "called off":
		return send(http.MethodPost, "/admin/voucher/%d/call-off", map[string]string{"why": "the price was wrong"})
	case "paused":
		return send(http.MethodPost, "/voucher/%d/pause", nil)
	case "stock":
		return send(http.MethodPost, "/voucher/%d/stock", map[string]int{"delta": -10})
	case "window":
		end := time.Now().Add(2 * time.Hour).Format(time.RFC3339)
		return send(http.MethodPatch, "/voucher/%d", map[string]string{"endTime": end})
	case "shelf":
		return send(http.MethodPatch, "/voucher/%d", map[string]int{"status": 2})
	default:
		return nil
	}
}

// asAdmin sends a request of an admin, as often as admins may, until the service is not too busy. It is carried out
// once.
func (r *run) asAdmin(method, path string, body any) (reply box.Reply, err error) {
	for deadline := time.Now().Add(box.Patience); ; {
		reply, err = r.site.Client.Do(r.Context(), box.Request{
			Method: method, URL: r.site.URL(path), Token: box.AdminToken(), Body: body,
			Header: map[string]string{"Idempotency-Key": path},
		})
		if err != nil || time.Now().After(deadline) || reply.StatusCode != http.StatusTooManyRequests &&
			reply.StatusCode != http.StatusServiceUnavailable && reply.StatusCode != http.StatusGatewayTimeout {
			return reply, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ordered lets eight users buy in each sale, and waits until their orders have rows.
func (r *run) ordered(sales []*decided) {
	r.Helper()
	const buyers = 8
	for _, d := range sales {
		b := r.site.Buyers(d.voucher)
		b.BuyAll(r.Context(), buyers, r.newUsers(buyers))
		for user, id := range b.Record.Winners() {
			d.orders = append(d.orders, box.Request{
				Method: http.MethodPost, Token: box.BuyerToken(user),
				URL: r.site.URL(fmt.Sprintf("/order/%d/cancel", id)),
			})
		}
	}
	box.Eventually(r, "the orders' rows", func() error {
		for _, d := range sales {
			rows, err := r.site.Ledger.Orders(r.Context(), d.voucher)
			if err != nil || len(rows) != buyers {
				return fmt.Errorf("%s: %d orders, %w", d.name, len(rows), err)
			}
		}
		return nil
	})
}

// cancelEach cancels some orders of each sale: after the ledger has gone back, of those that are busy.
func cancelEach(r *run, sales []*decided, from, to int) {
	for _, d := range sales {
		if d.name == "untouched" || from >= 3 && d.way != busy {
			continue
		}
		for _, request := range d.orders[from:to] {
			if from >= 3 {
				_, _ = r.site.Client.Do(r.Context(), request) // it may be cancelled already, or the ledger be away
				continue
			}
			box.Eventually(r, "a cancelled order", func() error {
				reply, err := r.site.Client.Do(r.Context(), request)
				if err == nil && reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusConflict {
					err = fmt.Errorf("%d %s", reply.StatusCode, reply.Body)
				}
				return err
			})
		}
	}
}

// giveAgain gives the numbers that a sale has lost to operations that change nothing, as another instance would, and
// has an order of each busy sale be overdue. No instance runs meanwhile.
func (r *run) giveAgain(sales []*decided) {
	r.Helper()
	exec := func(query string, args ...any) {
		r.Helper()
		_, err := r.site.Ledger.DB.ExecContext(r.Context(), query, args...)
		r.must(err)
	}
	for i, d := range sales {
		switch d.way {
		case quiet:
		case busy:
			exec("UPDATE tb_voucher_order SET pay_deadline = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND "+
				"WHERE voucher_id = ? AND status = 1 ORDER BY id DESC LIMIT 1", d.voucher)
		case reused:
			op, err := r.site.Redis.HGet(r.Context(), r.site.Redis.SaleKey(d.voucher), "op").Int64()
			r.must(err)
			var last int64
			r.must(r.site.Ledger.DB.QueryRowContext(r.Context(),
				"SELECT last_operation FROM tb_seckill_voucher WHERE voucher_id = ?", d.voucher).Scan(&last))
			for n := last + 1; n <= op+int64(i%2); n++ { // as many as are lost, or one more
				exec("INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, actor, mode, state, "+
					"identity, create_time) VALUES (?, ?, 'expire', 0, 'expirer', 0, 1, ?, UTC_TIMESTAMP(3))",
					d.voucher, n, 1000+n)
				exec("UPDATE tb_seckill_voucher SET last_operation = ? WHERE voucher_id = ?", n, d.voucher)
			}
		}
	}
}

// awaitApplied waits until Redis has applied all operations of the sales, and the ledger knows that.
func (r *run) awaitApplied(sales []*decided) {
	r.Helper()
	box.Eventually(r, "Redis having what was decided", func() error {
		for _, d := range sales {
			op, err := r.site.Redis.HGet(r.Context(), r.site.Redis.SaleKey(d.voucher), "op").Int64()
			var last, pending int64
			if err == nil {
				err = r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT last_operation, (SELECT COUNT(*) FROM "+
					"tb_voucher_operation o WHERE o.voucher_id = s.voucher_id AND state = 1) "+
					"FROM tb_seckill_voucher s WHERE voucher_id = ?", d.voucher).Scan(&last, &pending)
			}
			if err != nil || op != last || pending > 0 {
				return fmt.Errorf("%s: operation %d of %d, %d are pending, %w", d.name, op, last, pending, err)
			}
		}
		return nil
	})
}

// pauseNow has a person pause a sale, again and again until that has taken effect.
func (r *run) pauseNow(d *decided) {
	r.Helper()
	box.Eventually(r, d.name+" being paused", func() error {
		reply, err := r.asAdmin(http.MethodPost, fmt.Sprintf("/voucher/%d/pause", d.voucher), nil)
		if err != nil || reply.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s, %w", reply.StatusCode, reply.Body, err)
		}
		return nil
	})
	d.off.Store(true)
}

// pressIn has people press in every sale until the returned function is called, for ten seconds at least.
func (r *run) pressIn(sales []*decided) (end func()) {
	var pressing sync.WaitGroup
	least, ended := time.Now().Add(10*time.Second), make(chan struct{})
	pressing.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			case <-r.Context().Done():
				return
			default:
			}
			users := r.newUsers(len(sales))
			for i, d := range sales {
				off := d.off.Load()
				reply, err := r.site.Client.Do(r.Context(), box.Request{
					Method: http.MethodPost, Token: box.BuyerToken(users[i]),
					URL: r.site.Servers[n%len(r.site.Servers)].URL(fmt.Sprintf("/voucher/seckill/%d", d.voucher)),
				})
				if err == nil && reply.StatusCode/100 == 2 {
					d.sold.Add(1)
					if off {
						d.soldOff.Add(1)
					}
				}
			}
		}
	})
	return func() { time.Sleep(time.Until(least)); close(ended); pressing.Wait() }
}

// expectPaused expects that each sale whose decision was lost is paused and says so, and no other does.
func (r *run) expectPaused(sales []*decided) {
	r.Helper()
	lost := 0
	for _, d := range sales {
		if d.lost() {
			lost++
		}
		box.Eventually(r, d.name+" being paused, or not", func() error {
			var paused, rows, audited int
			err := r.site.Ledger.DB.QueryRowContext(r.Context(), "SELECT paused, "+
				"(SELECT COUNT(*) FROM tb_lost_decision l "+
				"WHERE l.voucher_id = s.voucher_id AND resolve_time IS NULL), "+
				"(SELECT COUNT(*) FROM tb_audit a WHERE a.voucher_id = s.voucher_id AND action = 'decision_lost') "+
				"FROM tb_seckill_voucher s WHERE voucher_id = ?", d.voucher).Scan(&paused, &rows, &audited)
			epoch, err2 := r.site.Ledger.Epoch(r.Context(), d.voucher)
			if err == nil {
				err = err2
			}
			if err != nil || (paused == 1) != (d.lost() || d.press) || (rows == 1) != d.lost() ||
				(audited == 1) != d.lost() || (epoch == 1) != (d.name == "untouched") {
				return fmt.Errorf("paused %d, %d rows, %d entries of the audit, epoch %d, %w",
					paused, rows, audited, epoch, err)
			}
			return nil
		})
	}
	gauge := fmt.Sprintf("seckill_sales_decision_lost %d", lost)
	box.Eventually(r, gauge, func() error {
		if text := r.site.Servers[0].Metrics(r); !strings.Contains(text, gauge) {
			return fmt.Errorf("it says otherwise")
		}
		return nil
	})
	said := box.Command(r, r.site.Servers[0].Settings, "reconcile", "-orders").Stdout
	for _, d := range sales {
		if strings.Contains(said, fmt.Sprintf("voucher %d: the database has lost a decision", d.voucher)) != d.lost() {
			r.Errorf("%s: reconcile says\n%s", d.name, said)
		}
	}
}

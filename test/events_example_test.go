package test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit"
	"seckill/internal/testkit/child"
	"seckill/test/box"
)

// copiedOrder, copiedPayment and copiedSale are what examples/events/copy.mjs keeps.
type (
	copiedOrder struct {
		Number, VoucherID, UserID, Quantity, Amount int64
		Status                                      string
	}
	copiedPayment struct {
		OrderID, State, Dispute    string
		Amount, Received, Returned int64
		Refunds                    map[string]copiedRefund
	}
	copiedRefund struct {
		Amount int64
		State  string
	}
	copiedSale struct {
		Title            string
		PayValue, Issued int64
		CalledOff        bool
	}
	copied struct {
		Orders   map[string]copiedOrder
		Payments map[string]copiedPayment
		Sales    map[string]copiedSale
	}
)

// TestEventsExample lets examples/events/copy.mjs follow a shop while instances and the copy are killed ten times, amid
// purchases, payments, refunds and changes of sales. Its copy then has what the ledger has; also after events that it
// had not read were purged, and after the ledger was restored from a backup: it begins again then.
func TestEventsExample(t *testing.T) {
	t.Parallel()
	const kills, each = 10, 3 // rounds with a kill, and orders in each
	_, prefix := testkit.Redis(t)
	redis, dsn := testkit.RedisAddr(t), testkit.MySQL(t)
	site := box.EmptySite(t, redis, prefix, dsn)
	for range 2 {
		site.Add(t, redis, dsn, map[string]string{"SECKILL_EVENT_KEEP": "24h"})
	}
	site.Start(t)
	s := &shopper{Site: site, tb: t, user: 4_000_000}
	before := s.sale(200, nil)
	s.lives(before, 3) // what the snapshot has
	c := startCopy(t, s)
	sale := s.sale(200, nil)
	for i := range kills {
		done := make(chan error, 1)
		go func() { done <- c.killed(s, i) }()
		alive := *s.Site
		alive.Servers = alive.Servers[(i+1)%2 : (i+1)%2+1]
		other := &shopper{Site: &alive, tb: t, user: s.user + int64(each*(i+1))}
		other.lives([]int64{before, sale}[i%2], each)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"title": "over"}, "", "/voucher/%d", before)
	s.admin(http.StatusOK, http.MethodPost, map[string]any{"why": "rain"}, "off", "/admin/voucher/%d/call-off", sale)
	s.isIn(c)
	s.purged(t, c)
	s.restored(t, c, before)
}

// isIn waits until the copy has what the ledger has.
func (s *shopper) isIn(c *copier) {
	s.tb.Helper()
	box.Eventually(s.tb, "the copy has what the ledger has", func() error {
		want, err := s.inLedger(s.tb.Context())
		if err != nil {
			return err
		}
		got, err := c.read()
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-ledger +copy):\n%s", diff)
		}
		return nil
	})
}

// purged purges a sale of which the copy has one order and missed the next.
func (s *shopper) purged(t *testing.T, c *copier) {
	t.Helper()
	s.user += 1000
	ended := s.sale(10, nil)
	s.lives(ended, 2)
	s.isIn(c)
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	s.lives(ended, 2)
	box.Eventually(t, "all events have numbers", func() error {
		if n := number(t, s.Site, "SELECT COUNT(*) FROM tb_webhook_event WHERE number IS NULL"); n > 0 {
			return fmt.Errorf("%d have none", n)
		}
		return nil
	})
	over(t, s.Site, ended)
	execute(t, s.Site, "UPDATE tb_voucher_order SET status = IF(status = 2, 3, 4) WHERE voucher_id = ?", ended)
	expectOutput(t, s.Site, 0, []string{"4 orders"}, "purge", "-before", time.Now().UTC().Format(time.DateOnly),
		"-why", "two years are over")
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	s.isIn(c)
}

// restored restores the ledger from a backup that lacks what the copy has.
func (s *shopper) restored(t *testing.T, c *copier, sale int64) {
	t.Helper()
	restore := s.backup(t)
	s.lives(sale, 4)
	s.isIn(c)
	for _, server := range s.Servers {
		if code, err := server.Terminate(); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v", code, err)
		}
	}
	restore()
	expectOutput(t, s.Site, 0, nil, "migrate", "-restored")
	s.Start(t)
	s.lives(s.sale(10, nil), 3)
	s.isIn(c)
}

// backup copies all tables, and returns what puts the copies in their place.
func (s *shopper) backup(t *testing.T) (restore func()) {
	t.Helper()
	tables := map[string]string{} // with their columns, but for those that the database computes
	err := s.each(t.Context(), "SELECT table_name, GROUP_CONCAT('`', column_name, '`') "+
		"FROM information_schema.columns WHERE table_schema = DATABASE() AND extra NOT LIKE '%STORED GENERATED%' "+
		"GROUP BY table_name", func(scan func(...any) error) error {
		var table, columns string
		err := scan(&table, &columns)
		tables[table] = columns
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for table, columns := range tables {
		execute(t, s.Site, fmt.Sprintf("CREATE TABLE kept_%s AS SELECT %s FROM %[1]s", table, columns))
	}
	return func() {
		t.Helper()
		for table, columns := range tables {
			execute(t, s.Site, "DELETE FROM "+table)
			execute(t, s.Site, fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM kept_%[1]s", table, columns))
			execute(t, s.Site, "DROP TABLE kept_"+table)
		}
	}
}

// lives has n users buy: one order stays as it is, the others are paid, and of these, every other one goes back.
func (s *shopper) lives(sale int64, n int) {
	s.tb.Helper()
	for i := range n {
		s.user++
		bought := s.buy(sale, s.user)
		if i == 0 {
			continue
		}
		s.pay(s.beginPayment(bought))
		s.awaitStatus(bought, "paid")
		if i%2 == 0 {
			s.sendsBack(bought)
		}
	}
}

// sendsBack asks for an order's money.
func (s *shopper) sendsBack(order string) {
	s.tb.Helper()
	box.Eventually(s.tb, "a refund", func() error {
		r, err := s.Client.Do(s.tb.Context(), box.Request{
			Method: http.MethodPost, URL: s.next("/order/%s/refund", order), Token: box.BuyerToken(s.user),
		})
		if err == nil && r.StatusCode != http.StatusOK && r.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
}

// copier is a running copy.mjs.
type copier struct {
	cmd  *exec.Cmd
	file string
	env  []string
	ctx  context.Context //nolint:containedctx // the test's
}

func startCopy(t *testing.T, s *shopper) *copier {
	t.Helper()
	c := &copier{file: filepath.Join(t.TempDir(), "copy.json"), ctx: t.Context()}
	c.env = append(os.Environ(), "SITE="+s.URLs(), "TOKEN="+box.AdminToken(), "FILE="+c.file, "EVERY=50")
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.stop() })
	return c
}

func (c *copier) start() error {
	root, err := child.Root(c.ctx)
	if err != nil {
		return err
	}
	c.cmd = exec.CommandContext(c.ctx, "node", filepath.Join(root, "examples", "events", "copy.mjs"))
	c.cmd.Env, c.cmd.Stderr = c.env, os.Stderr
	return c.cmd.Start()
}

func (c *copier) stop() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	return err
}

// killed kills the copy and one of the instances, and starts them again.
func (c *copier) killed(s *shopper, round int) error {
	if err := c.stop(); err != nil {
		return err
	}
	if err := s.Servers[round%len(s.Servers)].KillAndStart(); err != nil {
		return err
	}
	return c.start()
}

func (c *copier) read() (all copied, err error) {
	text, err := os.ReadFile(c.file)
	if err != nil {
		return all, err
	}
	err = json.Unmarshal(text, &all)
	maps.DeleteFunc(all.Payments, func(_ string, p copiedPayment) bool { return p.State == payment.Open.String() })
	return all, err
}

// inLedger returns the same from the database's tables.
func (s *shopper) inLedger(ctx context.Context) (all copied, err error) {
	all = copied{map[string]copiedOrder{}, map[string]copiedPayment{}, map[string]copiedSale{}}
	err = s.each(ctx, `SELECT id, 1 + revision + (pay_time IS NOT NULL) + (redeem_time IS NOT NULL) +
		(cancel_time IS NOT NULL) + (refunding_time IS NOT NULL) + (refund_time IS NOT NULL) + (lapse_time IS NOT NULL),
		voucher_id, user_id, quantity, amount, status FROM tb_voucher_order`, func(scan func(...any) error) error {
		var id string
		var o copiedOrder
		var status order.Status
		err := scan(&id, &o.Number, &o.VoucherID, &o.UserID, &o.Quantity, &o.Amount, &status)
		o.Status = status.String()
		all.Orders[id] = o
		return err
	})
	if err != nil {
		return all, err
	}
	err = s.each(ctx, `SELECT id, order_id, state, dispute, amount, IF(receive_time IS NULL, 0, amount), returned
		FROM tb_payment WHERE state <> 1`, func(scan func(...any) error) error {
		var id string
		p := copiedPayment{Refunds: map[string]copiedRefund{}}
		var state payment.State
		var dispute payment.Dispute
		err := scan(&id, &p.OrderID, &state, &dispute, &p.Amount, &p.Received, &p.Returned)
		p.State, p.Dispute = state.String(), dispute.String()
		all.Payments[id] = p
		return err
	})
	if err != nil {
		return all, err
	}
	err = s.each(ctx, "SELECT id, payment_id, amount, state FROM tb_refund", func(scan func(...any) error) error {
		var id, paid string
		var r copiedRefund
		var state payment.RefundState
		err := scan(&id, &paid, &r.Amount, &state)
		r.State = state.String()
		all.Payments[paid].Refunds[id] = r
		return err
	})
	if err != nil {
		return all, err
	}
	err = s.each(ctx, `SELECT v.id, v.title, v.pay_value, s.issued, s.called_off IS NOT NULL FROM tb_voucher v
		JOIN tb_seckill_voucher s ON s.voucher_id = v.id`, func(scan func(...any) error) error {
		var id string
		var sale copiedSale
		err := scan(&id, &sale.Title, &sale.PayValue, &sale.Issued, &sale.CalledOff)
		all.Sales[id] = sale
		return err
	})
	return all, err
}

// each calls read for each row of a query.
func (s *shopper) each(ctx context.Context, query string, read func(scan func(...any) error) error) error {
	rows, err := s.Ledger.DB.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

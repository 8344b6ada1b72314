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
// purchases, payments, refunds and changes of sales. Its copy then has what the ledger has.
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
	box.Eventually(t, "the copy has what the ledger has", func() error {
		want, err := s.inLedger(t.Context())
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

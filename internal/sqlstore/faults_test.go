package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// number returns the server's error number, or 0.
func number(err error) uint16 {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number
	}
	return 0
}

// The reply to COMMIT is lost (F09): the caller learns nothing, and the next question finds the orders.
func TestLostCommitReply(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	v := l.Seckill(t, 10)
	store, proxy := ledgertest.Proxied(t, dsn, ledgertest.Options(l.Clock))
	for name, write := range map[string]func([]order.Claim) error{
		"Insert": func(cs []order.Claim) error { return store.Insert(t.Context(), cs) },
		"Settle": func(cs []order.Claim) error {
			return store.Settle(t.Context(), cs, ledgertest.DecideAll(cs, order.Insert, ""))
		},
	} {
		lost := proxy.Lost()
		cs := ledgertest.Claims(v, int64(100*lost+1), 3)
		proxy.DropRepliesTo("COMMIT", 1)
		ledgertest.Infrastructure(t, write(cs))
		if proxy.Lost() != lost+1 {
			t.Fatalf("%s: no reply was lost", name)
		}
		if got := len(look(t, l, cs).Rows); got != 3 {
			t.Errorf("%s: %d rows were recorded, want 3", name, got)
		}
		if err := write(cs); !errors.Is(err, order.ErrConflict) {
			t.Errorf("%s again: %v, want ErrConflict", name, err)
		}
	}
	l.Conserved(t, v)
}

// The reply to COMMIT is lost while an order lives: repeating the call comes to what the lost reply said.
func TestLostCommitReplyOfALife(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	store, proxy := ledgertest.Proxied(t, ledgertest.Stopped(t, dsn, ledgertest.StartTime), ledgertest.Options(l.Clock))
	v, plain := l.Seckill(t, 100), l.Ordinary(t)
	cs := l.NewOrders(t, v, 4)
	late := l.late(t, v, 10)
	opened, paid, bought := l.Pays(t, cs[1]), l.Pays(t, cs[2]), l.Bought(t, plain, 1)
	l.Receives(t, paid)
	l.Due(t, -time.Minute, cs[3])
	complete := ledgertest.Results(l.ReadPending(t, v), true)
	ctx := t.Context()
	for _, test := range []struct {
		name  string
		write func() error
		again func(error) bool // what the second call says, if not nil
	}{
		{
			"Transition", func() error {
				_, err := store.Transition(ctx, cs[0].OrderID, 0, order.Cancel, order.Owner)
				return err
			},
			func(err error) bool { return ledgertest.InState(err, order.Cancelled) },
		},
		{"CloseDue", func() error { _, err := store.ExpireDue(ctx, 1, 10); return err }, nil},
		{
			"OpenPayment",
			func() error { _, err := store.OpenPayment(ctx, 1, bought.OrderID, "pay_1", []string{""}); return err },
			nil,
		},
		{"Receive", func() error {
			_, o, err := store.Receive(ctx, payment.Notice{PaymentID: opened.ID, Amount: 1000})
			if err == nil && o.Status != order.Paid {
				t.Errorf("Receive again: %+v", o)
			}
			return err
		}, nil},
		{"AskRefund", func() error { _, err := store.AskRefund(ctx, cs[2].UserID, cs[2].OrderID); return err }, nil},
		{"Refunded", func() error { _, err := store.Refunded(ctx, paid.ID, paid.ID, ""); return err }, nil},
		{"CompleteOperations", func() error { return store.CompleteOperations(ctx, v, complete) }, nil},
		{
			"ChangeStock",
			func() error { _, err := store.ChangeStock(ctx, v, ledgertest.Admin, 5, "key"); return err }, nil,
		},
		{"ChangeVoucher", func() error {
			_, err := store.ChangeVoucher(ctx, v, ledgertest.Admin,
				func(v *voucher.Voucher) error { v.Sale.Paused = true; return nil })
			return err
		}, nil},
		{"Place", func() error {
			_, err := store.RecordDirectSale(ctx, 1<<50, 1, plain, keyed(1, "key"))
			return err
		}, nil},
	} {
		lost := proxy.Lost()
		proxy.DropRepliesTo("COMMIT", 1)
		err := test.write()
		ledgertest.Infrastructure(t, err)
		if proxy.Lost() != lost+1 {
			t.Fatalf("%s: no reply was lost", test.name)
		}
		if !errors.Is(err, order.ErrUnknownChange) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnknownChange alone", test.name, err)
		}
		if err := test.write(); err != nil && (test.again == nil || !test.again(err)) {
			t.Errorf("%s again: %v", test.name, err)
		}
	}
	// Two orders are live: the paid one and the late one. Every change was counted once.
	if sale := l.Sale(t, v); sale.Stock != 103 || sale.Issued != 105 || sale.LastOperation != 7 {
		t.Errorf("sale %+v", sale)
	}
	if o := l.ReadOrder(t, late.OrderID); o.Status != order.Paid {
		t.Errorf("the late order is %s", o.Status)
	}
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_order_event"); n != 9 {
		t.Errorf("%d events, want 9", n)
	}
	l.Conserved(t, v)
}

// A lock wait that ends (1205) undoes one statement only; the store undoes the rest.
func TestLockWaitTimeout(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	free, held := l.Seckill(t, 10), l.Seckill(t, 10)
	o := ledgertest.Options(l.Clock)
	o.Timeout = 8 * time.Second // so the wait is four
	store := ledgertest.Through(t, dsn, func(*mysql.Config) {}, o)
	holder := l.holding(t, held)

	err := store.Insert(t.Context(), append(ledgertest.Claims(free, 1, 3), ledgertest.Claims(held, 1, 3)...))
	ledgertest.Infrastructure(t, err)
	if number(err) != 1205 {
		t.Errorf("Insert: %v, want error 1205", err)
	}
	cs := ledgertest.Claims(held, 5, 1)
	err = store.Settle(t.Context(), cs, ledgertest.DecideAll(cs, order.Insert, ""))
	ledgertest.Infrastructure(t, err)
	if number(err) != 1205 {
		t.Errorf("Settle: %v, want error 1205", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	l.Conserved(t, free)
}

// holding locks a sale's row in a transaction of its own.
func (l ledger) holding(t *testing.T, voucherID int64) *sql.Tx {
	t.Helper()
	tx, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() }) // unless the test did
	l.lockIn(t, tx, voucherID)
	return tx
}

func (l ledger) lockIn(t *testing.T, tx *sql.Tx, voucherID int64) {
	t.Helper()
	var id int64
	err := tx.QueryRowContext(t.Context(), "SELECT voucher_id FROM tb_seckill_voucher WHERE voucher_id = ? FOR UPDATE",
		voucherID).Scan(&id)
	if err != nil {
		t.Fatalf("locking sale %d: %v", voucherID, err)
	}
}

func TestDeadlock(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	first, second := l.Seckill(t, 10), l.Seckill(t, 10)
	holder := l.holding(t, second)
	// The server ends the transaction that has changed less.
	for i := range 200 {
		if _, err := holder.ExecContext(t.Context(), "INSERT INTO tb_setting VALUES (?, '', NOW(3))", i); err != nil {
			t.Fatal(err)
		}
	}
	inserted := make(chan error, 1)
	go func() {
		inserted <- l.Insert(t.Context(), append(ledgertest.Claims(first, 1, 3), ledgertest.Claims(second, 1, 3)...))
	}()
	l.AwaitLockWait(t)
	l.lockIn(t, holder, first)
	err := <-inserted
	ledgertest.Infrastructure(t, err)
	if number(err) != 1213 {
		t.Errorf("%v, want error 1213", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
	l.Conserved(t, first)
}

// Connections that are cut, and a server that does not answer: reading says so within its time, and works afterwards.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	v := l.Seckill(t, 10)
	o := ledgertest.Options(l.Clock)
	o.Timeout = 3 * time.Second
	store, proxy := ledgertest.Proxied(t, dsn, o)
	for name, fault := range map[string]func(){"cut": proxy.Cut, "black hole": proxy.Blackhole} {
		fault()
		start := time.Now()
		cs := ledgertest.Claims(v, 1, 1)
		_, orderErr := store.Order(t.Context(), 1)
		_, voucherErr := store.Voucher(t.Context(), v)
		if err := errors.Join(orderErr, voucherErr); !errors.Is(orderErr, order.ErrUnavailable) ||
			!errors.Is(voucherErr, order.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable twice", name, err)
		}
		ledgertest.Infrastructure(t, store.Insert(t.Context(), cs))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		proxy.Heal()
		if err := store.Ping(t.Context()); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		if _, err := store.Order(t.Context(), 1); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("after %s: %v, want ErrNotFound", name, err)
		}
	}
}

// A cancelled caller does not get the error that the database is away.
func TestCancelledCaller(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		_, err := l.Order(ledgertest.Cancelled(t), 1)
		if !errors.Is(err, context.Canceled) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%v, want context.Canceled alone", err)
		}
	})
}

// The service's own user needs no more than to read, insert and update. While the server only reads, nothing is
// blamed on the orders; killed and started again, it is simply used again.
func TestServerReadOnlyAndKilled(t *testing.T) {
	t.Parallel()
	server := testkit.StartMariaDB(t)
	dsn := server.DSN("seckill")
	l := openMySQL(t, dsn)
	v := l.Seckill(t, 10)
	l.Exec(t, "CREATE USER app@'%' IDENTIFIED BY 'of-this-test'")
	l.Exec(t, "GRANT SELECT, INSERT, UPDATE ON seckill.* TO app@'%'")
	store := ledgertest.Through(t, dsn, func(c *mysql.Config) { c.User, c.Passwd = "app", "of-this-test" },
		ledgertest.Options(l.Clock))
	if err := store.Schema().Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	cs := ledgertest.Claims(v, 1, 2)
	if err := store.Insert(t.Context(), cs[:1]); err != nil {
		t.Fatalf("Insert with few rights: %v", err)
	}

	l.Exec(t, "SET GLOBAL read_only = 1")
	err := store.Insert(t.Context(), cs[1:])
	ledgertest.Infrastructure(t, err)
	if number(err) != 1290 {
		t.Errorf("%v, want error 1290", err)
	}
	if idle := store.DB().Pool().Stats().Idle; idle != 0 {
		t.Errorf("%d connections to the read-only server are kept", idle)
	}
	err = store.Settle(t.Context(), cs[1:], ledgertest.DecideAll(cs[1:], order.Insert, ""))
	ledgertest.Infrastructure(t, err)
	l.Exec(t, "SET GLOBAL read_only = 0")

	server.Kill()
	ledgertest.Infrastructure(t, store.Insert(t.Context(), cs[1:]))
	if _, err := store.Voucher(t.Context(), v); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("Voucher while the server is away: %v, want ErrUnavailable", err)
	}
	if err := store.Ping(t.Context()); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("Ping while the server is away: %v, want ErrUnavailable", err)
	}
	server.Start()
	if err := store.Insert(t.Context(), cs[1:]); err != nil {
		t.Errorf("Insert after the server is back: %v", err)
	}
	if got, err := store.Recorded(t.Context(), []int64{cs[0].OrderID, cs[1].OrderID}); err != nil || len(got) != 2 {
		t.Errorf("Recorded = %v, %v; want both orders", got, err)
	}
}

// A ping asks a table. A node of a Galera cluster that has lost the majority answers anything that does not.
func TestPingAsksATable(t *testing.T) {
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		if err := l.Ping(t.Context()); err != nil {
			t.Errorf("Ping: %v", err)
		}
		l.Exec(t, "ALTER TABLE tb_setting RENAME TO tb_elsewhere")
		if err := l.Ping(t.Context()); err == nil {
			t.Error("without the table Ping says that all is well")
		}
	})
}

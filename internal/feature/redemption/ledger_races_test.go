package redemption_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// raceRounds is how often a race is run: make -C lab races runs them more often.
func raceRounds(few, many int) int {
	if os.Getenv("SECKILL_TEST_RACES") == "many" {
		return many
	}
	return few
}

// Sixty-four tills redeem one code at once, over and over: exactly one of them each time.
func TestManyTillsRedeemOneCode(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const tills = 64
		rounds := raceRounds(40, 1000)
		if l.Dialect == "sqlite" {
			rounds = 5
		}
		v := l.redeemable(t, int64(rounds), voucher.Redemption{})
		for _, c := range l.Paid(t, v, rounds) {
			coupon := l.coupon(t, c)
			outcomes := make([]redemption.Outcome, tills)
			var wg sync.WaitGroup
			for i := range outcomes {
				wg.Go(func() {
					cmd := redeem(coupon, fmt.Sprint("key ", i))
					cmd.Till.ID = int64(i + 1)
					outcomes[i] = do(t, l, cmd)
				})
			}
			wg.Wait()
			won := 0
			for i, o := range outcomes {
				switch {
				case o.Err == nil && !o.Repeated && o.Coupon.RedeemedBy == int64(i+1):
					won++
				case !errors.Is(o.Err, redemption.ErrRedeemed):
					t.Errorf("till %d: %+v", i+1, o)
				}
			}
			if events := l.Number(t, "SELECT COUNT(*) FROM tb_order_event WHERE order_id = ? AND status = 3",
				c.OrderID); won != 1 || events != 1 {
				t.Fatalf("%d tills have redeemed order %d, with %d events", won, c.OrderID, events)
			}
		}
		l.Conserved(t, v)
	})
}

// Of two that want the same coupon at once, one wins, and the other one is told what it has become.
func TestCouponRaces(t *testing.T) {
	t.Parallel()
	rounds := raceRounds(300, 10_000)
	for name, race := range map[string]struct {
		first, second func(ledger, redemption.Coupon, order.Claim) error
		won           func(first, second error) bool // exactly one, or as it may be
	}{
		"refund against redeem": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				return do(t, l, redeem(c, "k")).Err
			},
			second: func(l ledger, _ redemption.Coupon, c order.Claim) error {
				_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
				return err
			},
			won: func(redeem, refund error) bool {
				return redeem == nil && ledgertest.InState(refund, order.Redeemed) ||
					errors.Is(redeem, redemption.ErrVoid) && refund == nil
			},
		},
		"refund against reserve": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				return do(t, l, reserve(c, "r")).Err
			},
			second: func(l ledger, _ redemption.Coupon, c order.Claim) error {
				_, err := l.AskRefund(t.Context(), c.UserID, c.OrderID)
				return err
			},
			won: func(reserve, refund error) bool {
				return reserve == nil && errors.Is(refund, redemption.ErrReserved) ||
					errors.Is(reserve, redemption.ErrVoid) && refund == nil
			},
		},
		"lapse against a reserved redeem": {
			first: func(l ledger, c redemption.Coupon, _ order.Claim) error {
				cmd := redeem(c, "k")
				cmd.Reservation = "r"
				return do(t, l, cmd).Err
			},
			second: func(l ledger, _ redemption.Coupon, _ order.Claim) error {
				_, _, err := l.LapseDue(t.Context(), 1, 10)
				return err
			},
			won: func(redeem, lapse error) bool { return redeem == nil && lapse == nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openMySQL(t, ledgertest.MigratedMySQL(t))
			v := l.redeemable(t, int64(rounds), voucher.Redemption{})
			for _, c := range l.Paid(t, v, rounds) {
				coupon := l.coupon(t, c)
				if strings.HasPrefix(name, "lapse") {
					do(t, l, reserve(coupon, "r"))
					l.Exec(t, "UPDATE tb_coupon SET valid_until = ?, due_time = ? WHERE order_id = ?",
						ledgertest.Stored(ledgertest.RecordedAt), ledgertest.Stored(ledgertest.RecordedAt), c.OrderID)
				}
				first, second := ledgertest.Both(func() error { return race.first(l, coupon, c) },
					func() error { return race.second(l, coupon, c) })
				if !race.won(first, second) {
					t.Fatalf("%v against %v; the order is %s", first, second, l.ReadOrder(t, c.OrderID).Status)
				}
			}
			l.Conserved(t, v)
		})
	}
}

// The lapser has chosen a coupon, and a till is first to lock it: the reservation bars the lapse.
func TestLapseSeesAReservation(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	v := l.redeemable(t, 1, voucher.Redemption{ValidDays: 1})
	c := l.Paid(t, v, 1)[0]
	l.Exec(t, "UPDATE tb_coupon SET due_time = ?", ledgertest.Stored(ledgertest.RecordedAt))
	tx, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it has been committed
	for _, statement := range []string{
		fmt.Sprintf("SELECT id FROM tb_voucher_order WHERE id = %d FOR UPDATE", c.OrderID),
		fmt.Sprintf("UPDATE tb_coupon SET reservation = 'r', reserved_by = 1, reserve_key = 'k', reserved_until = '%s'",
			ledgertest.Stored(ledgertest.RecordedAt.Add(time.Minute))),
	} {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		lapsed, _, err := l.LapseDue(t.Context(), 1, 10)
		if err == nil && len(lapsed) > 0 {
			err = errors.New("a reserved coupon lapsed")
		}
		done <- err
	}()
	l.AwaitLockWait(t)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || l.ReadOrder(t, c.OrderID).Status != order.Paid {
		t.Errorf("%v; the order is %s", err, l.ReadOrder(t, c.OrderID).Status)
	}
}

// The reply to COMMIT is lost: the same request, repeated, says what has happened.
func TestLostCommitReplyOfTills(t *testing.T) {
	t.Parallel()
	dsn := ledgertest.MigratedMySQL(t)
	l := openMySQL(t, dsn)
	core, proxy := ledgertest.Proxied(t, ledgertest.Stopped(t, dsn, ledgertest.StartTime), ledgertest.Options(l.Clock))
	store := redemption.NewLedger(core.DB(), core.Features)
	v := l.redeemable(t, 9, voucher.Redemption{})
	cs := l.Paid(t, v, 3)
	held := l.coupon(t, cs[2])
	do(t, l, reserve(held, "r"))
	for name, cmd := range map[string]redemption.Command{
		"redeem": redeem(l.coupon(t, cs[0]), "k"), "reserve": reserve(l.coupon(t, cs[1]), "r"),
		"release": {Verb: redemption.Release, Till: till, Code: held.Code, Reservation: "r"},
	} {
		lost := proxy.Lost()
		proxy.DropRepliesTo("COMMIT", 1)
		_, err := store.Do(t.Context(), []redemption.Command{cmd})
		ledgertest.Infrastructure(t, err)
		if proxy.Lost() != lost+1 {
			t.Fatalf("%s: no reply was lost", name)
		}
		again := cmd
		if cmd.Verb == redemption.Reserve {
			again.Reservation = "another"
		}
		if o := do(t, store, again); o.Err != nil || !o.Repeated {
			t.Errorf("%s again: %+v", name, o)
		}
	}
	past := ledgertest.Stored(ledgertest.RecordedAt)
	l.Exec(t, "UPDATE tb_coupon SET due_time = ?, valid_until = ? WHERE redeemed_by IS NULL AND reservation IS NULL",
		past, past)
	proxy.DropRepliesTo("COMMIT", 1)
	_, _, err := store.LapseDue(t.Context(), 1, 9)
	ledgertest.Infrastructure(t, err)
	if lapsed, seen, err := store.LapseDue(t.Context(), 1, 9); err != nil || len(lapsed) != 0 || seen != 0 {
		t.Errorf("lapsing again: %d of %d, %v", len(lapsed), seen, err)
	}
	if got := l.ReadOrder(t, cs[2].OrderID).Status; got != order.Lapsed {
		t.Errorf("the due order is %s", got)
	}
	l.Conserved(t, v)
}

package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// made returns what err says that a key has made; "" if it says something else.
func made(err error) string {
	if before, done := errors.AsType[*idempotency.RepeatedError](err); done {
		return before.Made
	}
	return ""
}

// A voucher is created once for each key of a caller, however often it is asked for and at the same time; another
// request with the key is refused, and a creation that failed leaves the key unused.
func TestVouchersByKey(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		create := func(k idempotency.Key) (int64, error) {
			v := ledgertest.Draft()
			by := ledgertest.Admin
			by.Key = k
			err := l.CreateVoucher(t.Context(), &v, by)
			return v.ID, err
		}
		key := keyed(7, "k")
		id, err := create(key)
		if err != nil || id == 0 {
			t.Fatal(id, err)
		}
		for _, err := range []error{second(create(key)), l.DB().FindKey(t.Context(), key)} {
			if got := made(err); got != fmt.Sprint(id) {
				t.Errorf("again: %q, %v", got, err)
			}
		}
		otherRoute, otherBody := key, key
		otherRoute.Route, otherBody.Body[0] = "POST /voucher/seckill", 1
		for _, k := range []idempotency.Key{otherRoute, otherBody} {
			for _, err := range []error{second(create(k)), l.DB().FindKey(t.Context(), k)} {
				if !errors.Is(err, idempotency.ErrReused) {
					t.Errorf("another request: %v", err)
				}
			}
		}
		for _, k := range []idempotency.Key{keyed(8, "k"), keyed(7, "K"), {}} {
			if err := l.DB().FindKey(t.Context(), k); err != nil {
				t.Errorf("%+v: %v", k, err)
			}
			if another, err := create(k); err != nil || another == id {
				t.Errorf("%+v: voucher %d, %v", k, another, err)
			}
		}
		refused := keyed(7, "refused")
		sale := ledgertest.Draft()
		sale.Kind, sale.Sale = voucher.Seckill, &voucher.Sale{
			Stock: 1, Issued: 1, Begin: ledgertest.StartTime, End: ledgertest.StartTime.Add(time.Hour), Partition: 99,
		}
		by := ledgertest.Admin
		by.Key = refused
		if err := l.CreateVoucher(t.Context(), &sale, by); !errors.Is(err, voucher.ErrNoPartition) {
			t.Fatalf("in no partition: %v", err)
		}
		if err := l.DB().FindKey(t.Context(), refused); err != nil {
			t.Errorf("a refusal used the key: %v", err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher"); n != 4 {
			t.Errorf("%d vouchers, want 4", n)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Of equal requests at the same time one creates, and the others hear of that.
func TestVouchersByKeyAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		for round := range int64(10) {
			key := keyed(7, fmt.Sprint(round))
			var ids [2]string
			create := func(i int) func() error {
				return func() error {
					v := ledgertest.Draft()
					by := ledgertest.Admin
					by.Key = key
					err := l.CreateVoucher(t.Context(), &v, by)
					if ids[i] = fmt.Sprint(v.ID); made(err) != "" {
						ids[i], err = made(err), nil
					}
					return err
				}
			}
			if err := errors.Join(ledgertest.Both(create(0), create(1))); err != nil || ids[0] != ids[1] {
				t.Errorf("%v: %q", err, ids)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher"); n != 10 {
			t.Errorf("%d vouchers, want 10", n)
		}
	})
}

// An order that was deleted is not bought again.
func TestDirectSaleThatIsGone(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Ordinary(t)
		key := buying(1, v, "k")
		if _, err := l.RecordDirectSale(t.Context(), 101, 1, v, key); err != nil {
			t.Fatal(err)
		}
		l.Exec(t, "DELETE FROM tb_voucher_order")
		if o, err := l.RecordDirectSale(t.Context(), 102, 1, v, key); !errors.Is(err, idempotency.ErrGone) {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// Keys are deleted at their age, oldest first, in batches, and by the newest holder of the job's lock.
func TestForgetKeys(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const age = 30 * 24 * time.Hour
		v := l.Ordinary(t)
		for i := range int64(5) {
			if _, err := l.RecordDirectSale(t.Context(), 100+i, 1, v, buying(1, v, fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			old := ledgertest.RecordedAt.Add(-age - time.Second + time.Duration(i)*300*time.Millisecond)
			l.Exec(t, "UPDATE tb_request SET create_time = ? WHERE request_key = ?", old, fmt.Sprint(i))
		}
		forget := func(token int64) (int, error) { return l.DB().ForgetKeys(t.Context(), token, age, 3) }
		for _, want := range []int{3, 1, 0} {
			if n, err := forget(2); err != nil || n != want {
				t.Errorf("%d forgotten, %v; want %d", n, err, want)
			}
		}
		if left := l.Number(t, "SELECT COUNT(*) FROM tb_request WHERE request_key = '4'"); left != 1 {
			t.Errorf("%d are left of the one that is not old enough", left)
		}
		if _, err := forget(1); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("a lower token: %v", err)
		}
		if o, err := l.RecordDirectSale(t.Context(), 200, 1, v,
			buying(1, v, "0")); err != nil || o.ID != 200 {
			t.Errorf("a key that was forgotten: %+v, %v", o, err)
		}
	})
}

package shop_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
)

const (
	newVoucher  = `{"shopId":1,"title":"50 for 47.50","payValue":4750,"actualValue":5000}`
	sameVoucher = `{ "title":"50 for 47.50", "shopId":1, "actualValue":5000,"payValue":4750 }`
)

// createWithKey sends a creation with a key, as an admin.
func createWithKey(t *testing.T, a *API, body, key string) string {
	t.Helper()
	w := do(t, a, request{Method: http.MethodPost, Target: "/voucher", Body: body, Header: map[string]string{
		"Authorization": token(t, adminID, authtoken.RoleAdmin), "Idempotency-Key": key,
	}})
	return fmt.Sprint(w.Code, " ", w.Body)
}

// The ledger is handed who calls what, with which body; without a key it is handed none.
func TestKeyOfACreation(t *testing.T) {
	t.Parallel()
	vouchers := &fakeVouchers{}
	a := newAPI(t, func(cfg *setup) { cfg.Vouchers = vouchers })
	want := idempotency.Key{
		Caller: adminID, Name: "k-1", Route: "POST /voucher", Body: idempotency.Digest([]byte(newVoucher)),
	}
	for _, body := range []string{newVoucher, sameVoucher} {
		if got := createWithKey(t, a, body, "k-1"); !strings.HasPrefix(got, "201 ") {
			t.Error(got)
		}
		if diff := cmp.Diff(want, vouchers.By.Key); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	createWithKey(t, a, newVoucher, "")
	if vouchers.By.Key.Given() || vouchers.By.AdminID != adminID {
		t.Errorf("without a key: by %+v", vouchers.By)
	}
}

// storedKeys fails, or finds that a request made the voucher with the id 5, once its creation has begun.
type storedKeys struct {
	shop.Vouchers
	found, claimed error // what looking for the key, and creating with it, returns
	created        int
}

// FindKey is Config.FindKey.
func (s *storedKeys) FindKey(context.Context, idempotency.Key) error { return s.found }

// Find shows the seckill voucher.
func (s *storedKeys) Find(_ context.Context, id int64) (voucher.Shown, error) {
	v := seckillVoucher()
	v.ID = id
	return v, nil
}

// CreateOrdinary counts.
func (s *storedKeys) CreateOrdinary(context.Context, voucher.Author, voucher.Draft) (voucher.Shown, error) {
	s.created++
	return seckillVoucher(), s.claimed
}

// A repeated request creates nothing, also where the first one is still under way.
func TestRepeatedCreation(t *testing.T) {
	t.Parallel()
	again := fmt.Errorf("as adapters do: %w", &idempotency.RepeatedError{Made: "5"})
	for name, c := range map[string]struct {
		keys    storedKeys
		want    string
		created int
	}{
		"first":            {storedKeys{}, "201", 1},
		"again":            {storedKeys{found: again}, "201", 0},
		"at the same time": {storedKeys{claimed: again}, "201", 1},
		"another request":  {storedKeys{found: idempotency.ErrReused}, "409", 0},
		"the ledger away":  {storedKeys{found: order.ErrUnavailable}, "503", 0},
	} {
		keys := c.keys
		a := newAPI(t, func(cfg *setup) { cfg.Vouchers, cfg.FindKey = &keys, keys.FindKey })
		got := createWithKey(t, a, newVoucher, "k")
		if !strings.HasPrefix(got, c.want) || keys.created != c.created ||
			c.want == "201" && c.created == 0 && !strings.Contains(got, `"id":5`) {
			t.Errorf("%s: created %d times, %s", name, keys.created, got)
		}
	}
}

// What the first request made may have been deleted; then nothing is made in its place.
func TestRepeatedCreationOfWhatIsGone(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *setup) {
		cfg.FindKey, cfg.Vouchers = apitest.FindKey("5"), failingVouchers{Err: voucher.ErrNotFound}
	})
	if got := createWithKey(t, a, newVoucher, "k"); !strings.HasPrefix(got, "410 ") ||
		!strings.Contains(got, `"code":"GONE"`) {
		t.Error(got)
	}
}

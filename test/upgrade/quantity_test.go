package upgrade

import (
	"fmt"
	"net/http"
	"testing"

	"seckill/test/box"
)

// severalUnits creates a sale of two units to a buyer in two shares, which is refused while an instance of the version before is alive, for
// each of the two: it could not read the orders. Sales without are created all the time. Once the old instance has gone, the sale is
// created and sells; when the old version comes back, the next one is refused again.
func severalUnits(t *testing.T, old, now release) {
	s := sharedStores(t)
	a, b := s.start(old, "a"), s.start(now, "b")
	several := map[string]any{"stock": 4, "perUser": 2, "shares": 2}
	refused := func() {
		t.Helper()
		for _, draft := range []map[string]any{several, {"stock": 4, "perUser": 2}, {"stock": 4, "shares": 2}} {
			if _, status, code := b.tryToCreate(draft); status != http.StatusServiceUnavailable || code != "UPGRADING" {
				t.Errorf("%v beside the version before: %d %s, want 503 UPGRADING", draft, status, code)
			}
		}
		b.createSale(4)
	}
	refused()
	a.terminate()
	var sale int64
	box.Eventually(s, "a sale of two units to a buyer", func() error {
		id, status, code := b.tryToCreate(several)
		if sale = id; status != http.StatusCreated {
			return fmt.Errorf("it is refused: %d %s", status, code)
		}
		return nil
	})
	path := fmt.Sprintf("/voucher/seckill/%d?quantity=2&wait=10s", sale)
	box.Eventually(s, "an order of two units", func() error {
		if status, e, err := b.post(t.Context(), path, box.BuyerToken(7), nil); err != nil || status != http.StatusCreated {
			return fmt.Errorf("%d %s, %w", status, e.Code, err)
		}
		return nil
	})
	s.start(old, "c")
	box.Eventually(s, "the version before being noticed", func() error {
		if _, status, _ := b.tryToCreate(several); status == http.StatusCreated {
			return errNotYet
		}
		return nil
	})
	refused()
}

package installation_test

import (
	"errors"
	"testing"

	"seckill/internal/sqlstore/installation"
	"seckill/internal/testkit/ledgertest"
)

// The first start decides the currency, also of several at once; another one is refused from then on.
func TestTakeCurrency(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		const callers = 4
		taken := make(chan error, callers)
		for range callers {
			go func() { taken <- l.TakeCurrency(t.Context(), "EUR") }()
		}
		for range callers {
			if err := <-taken; err != nil {
				t.Errorf("the same currency: %v", err)
			}
		}
		if err := l.TakeCurrency(t.Context(), "CNY"); !errors.Is(err, installation.ErrOtherCurrency) {
			t.Errorf("another currency: %v", err)
		}
		if err := l.TakeCurrency(t.Context(), "EUR"); err != nil {
			t.Errorf("the same currency again: %v", err)
		}
	})
}

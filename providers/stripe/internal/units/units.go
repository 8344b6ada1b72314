// Package units converts amounts between the service, which counts a currency's least unit by ISO 4217, and Stripe,
// whose units differ for some currencies.
package units

import (
	"fmt"
	"strings"
)

// factor is how an amount of the service becomes one of Stripe: times by, divided by per; and what an amount of Stripe
// has to be a multiple of.
type factor struct{ by, per, multiple int64 }

// of returns the factor of a currency. Source: https://docs.stripe.com/currencies, "Zero-decimal currencies",
// "Three-decimal currencies" and "Special cases", beside the list of ISO 4217.
//
//   - ISK and UGX have no digits by ISO 4217, and two at Stripe, which must be 00.
//   - MGA has two digits by ISO 4217 (its fifths are written so), and none at Stripe.
//   - BHD, JOD, KWD, OMR and TND have three digits in both; at Stripe the last one must be 0.
//   - BIF, CLP, DJF, GNF, JPY, KMF, KRW, PYG, RWF, VND, VUV, XAF, XOF and XPF have none in both.
//   - HUF and TWD have two in both: Stripe takes payments in their hundredths, and only pays out whole ones.
//
// All others have as many in both.
func of(currency string) factor {
	switch strings.ToUpper(currency) {
	case "ISK", "UGX":
		return factor{100, 1, 100}
	case "MGA":
		return factor{1, 100, 1}
	case "BHD", "JOD", "KWD", "OMR", "TND":
		return factor{1, 1, 10}
	default:
		return factor{1, 1, 1}
	}
}

// AmountError says that an amount cannot be expressed in the units of the other side.
type AmountError struct {
	Currency string
	Amount   int64
	Multiple int64 // what the amount has to be a multiple of
}

// Error implements error.
func (e *AmountError) Error() string {
	return fmt.Sprintf("%d is no amount of %s that Stripe takes: it must be a multiple of %d",
		e.Amount, strings.ToUpper(e.Currency), e.Multiple)
}

// ToStripe returns an amount of the service as one of Stripe, or an *AmountError.
func ToStripe(currency string, amount int64) (int64, error) {
	f := of(currency)
	converted := amount * f.by / f.per
	if amount%f.per != 0 || converted%f.multiple != 0 {
		return 0, &AmountError{currency, amount, max(f.per, f.multiple/f.by)}
	}
	return converted, nil
}

// FromStripe returns an amount of Stripe as one of the service, or an *AmountError.
func FromStripe(currency string, amount int64) (int64, error) {
	f := of(currency)
	if amount%f.by != 0 {
		return 0, &AmountError{currency, amount, f.by}
	}
	return amount / f.by * f.per, nil
}

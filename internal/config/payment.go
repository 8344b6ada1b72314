package config

import (
	"fmt"
	"net/url"

	"seckill/internal/kit/currency"
)

// Names of payment providers.
const (
	NoPayments      = "none"
	SandboxPayments = "sandbox"
)

// checkPayment resolves auto, and requires a secret for a provider outside the embedded mode.
func checkPayment(c *Config, ps *problems) {
	if _, known := currency.Digits(c.Payment.Currency); !known {
		ps.add("SECKILL_CURRENCY", fmt.Sprintf("is %q", c.Payment.Currency),
			"a code of ISO 4217, in capitals, of a currency with no, two or three decimals, such as CNY, JPY or KWD")
	}
	const secret = "SECKILL_PAYMENT_SECRET"
	embedded := c.Embedded() && c.Stores.Embedded != "never"
	given := c.Payment.Provider
	if given == "auto" {
		c.Payment.Provider = NoPayments
		if embedded && len(c.Payment.Providers) == 0 {
			c.Payment.Provider = SandboxPayments
		}
	}
	checkProviders(c, given, ps)
	switch {
	case c.Payment.Provider == SandboxPayments && (!embedded || c.Payment.Secret != ""):
		checkSecret(secret, c.Payment.Secret, ps)
	case c.Payment.Provider == NoPayments && c.Payment.Secret != "":
		ps.add(secret, "is set, but there is no payment provider", "SECKILL_PAYMENT_PROVIDER=sandbox, or no secret")
	}
	checkURL("SECKILL_PAYMENT_CALLBACK_URL", c.Payment.CallbackURL, "http://10.0.0.7:8080/payment/callback", ps)
	checkURL("SECKILL_PAYMENT_RETURN_URL", c.Payment.ReturnURL, "https://shop.example/orders/{orderId}", ps)
}

// checkURL requires that a setting is empty, or the address of a page.
func checkURL(name, text, example string, ps *problems) {
	if text == "" {
		return
	}
	if u, err := url.Parse(text); err != nil || !isWeb(u) {
		ps.add(name, "is not an address", "a URL such as "+example)
	}
}

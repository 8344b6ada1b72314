package config

import "net/url"

// Names of payment providers.
const (
	NoPayments      = "none"
	SandboxPayments = "sandbox"
)

// checkPayment resolves auto, and requires a secret for a provider outside the embedded mode.
func checkPayment(c *Config, ps *problems) {
	checkCurrency(c.Payment.Currency, ps)
	const secret, callback = "SECKILL_PAYMENT_SECRET", "SECKILL_PAYMENT_CALLBACK_URL"
	embedded := c.Embedded() && c.Stores.Embedded != "never"
	if c.Payment.Provider == "auto" {
		c.Payment.Provider = NoPayments
		if embedded {
			c.Payment.Provider = SandboxPayments
		}
	}
	switch {
	case c.Payment.Provider == SandboxPayments && (!embedded || c.Payment.Secret != ""):
		checkSecret(secret, c.Payment.Secret, ps)
	case c.Payment.Provider == NoPayments && c.Payment.Secret != "":
		ps.add(secret, "is set, but there is no payment provider", "SECKILL_PAYMENT_PROVIDER=sandbox, or no secret")
	}
	if c.Payment.CallbackURL == "" {
		return
	}
	if u, err := url.Parse(c.Payment.CallbackURL); err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https" {
		ps.add(callback, "is not an address", "a URL such as http://10.0.0.7:8080/payment/callback")
	}
}

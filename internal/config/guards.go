package config

// checkGuards refuses a secret that can be guessed, or that the issuers of tokens know as well.
func checkGuards(c *Config, ps *problems) {
	const name = "SECKILL_GUARD_SECRET"
	secret := c.Guards.Secret
	switch secret {
	case "":
	case c.JWT.Secret, c.JWT.PreviousSecret, c.JWT.AdminSecret, c.JWT.AdminPreviousSecret, c.Payment.Secret:
		ps.add(name, "is another setting's secret too",
			"a secret of its own: who knows the other one could compute every buyer's moment")
	default:
		checkSecret(name, secret, ps)
	}
}

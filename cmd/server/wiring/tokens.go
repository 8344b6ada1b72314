package wiring

import (
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/config"
)

// TokenRules returns the configured rules for tokens, with the secret that signs them.
func TokenRules(cfg config.Config, secret string) authtoken.Rules {
	return authtoken.Rules{
		Secret: []byte(secret), Previous: []byte(cfg.JWT.PreviousSecret.Reveal()),
		Admin: []byte(cfg.JWT.AdminSecret.Reveal()), AdminPrevious: []byte(cfg.JWT.AdminPreviousSecret.Reveal()),
		Issuer: cfg.JWT.Issuer, Audience: cfg.JWT.Audience,
		MaxLife: cfg.JWT.MaxLife, AdminMaxLife: cfg.JWT.AdminMaxLife,
		Accounts: cfg.Session.Issuers != "", SessionsOnly: !cfg.JWT.Direct,
	}
}

// Within returns the smaller of d and longest; longest 0 means no limit.
func Within(d, longest time.Duration) time.Duration {
	if longest > 0 {
		return min(d, longest)
	}
	return d
}

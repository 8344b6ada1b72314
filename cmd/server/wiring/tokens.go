package wiring

import (
	"time"

	"seckill/internal/kit/authtoken"
	"seckill/internal/kit/config"
)

// TokenRules are the settings' rules for tokens, signed with a secret.
func TokenRules(cfg config.Config, secret string) authtoken.Rules {
	return authtoken.Rules{
		Secret: []byte(secret), Previous: []byte(cfg.JWT.PreviousSecret.Reveal()),
		Issuer: cfg.JWT.Issuer, Audience: cfg.JWT.Audience,
		MaxLife: cfg.JWT.MaxLife, AdminMaxLife: cfg.JWT.AdminMaxLife,
	}
}

// Within is a time, or the longest one if that is less; 0: there is no longest.
func Within(d, longest time.Duration) time.Duration {
	if longest > 0 {
		return min(d, longest)
	}
	return d
}

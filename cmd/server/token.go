package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"seckill/internal/config"
	"seckill/internal/embedded"
	"seckill/internal/httpapi"
	"seckill/internal/voucher"
)

const tokenHelp = `server token prints a token (a JWT) that a running service believes, for trying it out.

  server token -user 42               a buyer's
  server token -user 1 -role admin    an admin's
  curl -H "Authorization: Bearer $(server token -user 42)" …

It signs with SECKILL_JWT_SECRET, or in the embedded mode with the secret in
SECKILL_DATA_DIR that the service made when it first started.`

// longestTTL keeps a token for trying out from living for ever.
const longestTTL = 366 * 24 * time.Hour

// token is the command token.
func token(_ context.Context, env environment) error {
	set := flag.NewFlagSet("token", flag.ContinueOnError)
	user := set.Int64("user", 0, "the user's `id`, a positive number (required)")
	role := set.String("role", "", `"admin", or nothing for a buyer`)
	ttl := set.Duration("ttl", 24*time.Hour, "how long the token is valid")
	if err := parse(env, set, tokenHelp); err != nil {
		return err
	}
	switch {
	case *user < 1 || *user > voucher.MaxID:
		return misuse(set, fmt.Sprintf("-user is %d, or missing (allowed: 1 to %d)", *user, voucher.MaxID))
	case *role != "" && *role != httpapi.RoleAdmin:
		return misuse(set, fmt.Sprintf("-role is %q (allowed: %q, or nothing for a buyer)", *role, httpapi.RoleAdmin))
	case *ttl <= 0 || *ttl > longestTTL:
		return misuse(set, fmt.Sprintf("-ttl is %s (allowed: more than nothing, at most %s)", *ttl, longestTTL))
	}
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	secret := cfg.JWT.Secret.Reveal()
	if secret == "" {
		secret, err = embedded.ReadSecret(cfg.Stores.DataDir)
		if errors.Is(err, embedded.ErrNoSecret) {
			return fmt.Errorf("there is no secret in %s yet: start the service once (make run), or set SECKILL_JWT_SECRET", cfg.Stores.DataDir)
		}
		if err != nil {
			return err
		}
	}
	signed, err := httpapi.SignToken([]byte(secret), *user, *role, *ttl, cfg.JWT.Issuer, cfg.JWT.Audience, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, signed)
	return err
}

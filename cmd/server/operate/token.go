package operate

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/embedded"
	"seckill/internal/voucher"
)

const tokenHelp = `server token prints a token (a JWT) that a running service accepts, for trying it out.

  server token -user 42               a buyer's
  server token -user 1 -role admin    an admin's
  server token -user 3 -role merchant -shop 1
                                      a merchant's: an admin's for shop 1 alone
  server token -user 7 -role till -shop 1
                                      a till's, in shop 1
  server token -user 42 -level 2 -agedays 30
                                      a buyer's of level 2, whose account is
                                      30 days old
  curl -H "Authorization: Bearer $(server token -user 42)" …

It signs with SECKILL_JWT_SECRET, or in the embedded mode with the secret in
SECKILL_DATA_DIR that the service made when it first started. Where
SECKILL_JWT_ADMIN_SECRET is set, that signs for every -role. If the service
limits the life of tokens, the token is valid for no longer than that.`

// longestTTL bounds the life of a token, which is for trying the service out.
const longestTTL = 366 * 24 * time.Hour

// maxAgeDays bounds the age of an account, so that it was created after 1970.
const maxAgeDays = 18_250

// Token runs the command token.
func Token(_ context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("token", flag.ContinueOnError)
	var of authtoken.Account
	set.Int64Var(&of.User, "user", 0, "the user's `id`, a positive number (required)")
	set.StringVar(&of.Role, "role", "", "the `role`: \"admin\", \"merchant\", \"till\", or nothing for a buyer")
	set.Int64Var(&of.Shop, "shop", 0, "the `id` of a merchant's or a till's shop")
	set.Int64Var(&of.Level, "level", 0, "the `level` of a buyer's account, for sales with such a condition")
	ageDays := set.Int64("agedays", 0, "how many `days` old a buyer's account is, for sales with such a condition")
	ttl := set.Duration("ttl", 24*time.Hour, "how long the token is valid")
	if err := cmdline.Parse(env.Env, set, tokenHelp); err != nil {
		return err
	}
	if wrong := cmp.Or(wrongAccount(of), wrongForBuyer(of, *ageDays)); wrong != "" {
		return cmdline.Misuse(set, wrong)
	}
	if *ttl <= 0 || *ttl > longestTTL {
		return cmdline.Misuse(set, fmt.Sprintf("-ttl is %s (allowed: more than nothing, at most %s)", *ttl, longestTTL))
	}
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	secret, err := secretOf(cfg)
	if err != nil {
		return err
	}
	rules := wiring.TokenRules(cfg, secret)
	life, err := chosenLife(set, *ttl, rules.Life(of.Role))
	if err != nil {
		return err
	}
	now := time.Now()
	if *ageDays > 0 {
		of.Since = now.AddDate(0, 0, -int(*ageDays))
	}
	signed, err := authtoken.Sign(rules, of, life, now)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Out, signed)
	return err
}

// wrongAccount returns a text about the first flag with a value that is not allowed, and the allowed values; "" if all
// are right.
func wrongAccount(a authtoken.Account) string {
	inShop := a.Role == authtoken.RoleTill || a.Role == authtoken.RoleMerchant
	switch {
	case a.User < 1 || a.User > voucher.MaxID:
		return fmt.Sprintf("-user is %d, or missing (allowed: 1 to %d)", a.User, voucher.MaxID)
	case a.Role != "" && a.Role != authtoken.RoleAdmin && !inShop:
		return fmt.Sprintf("-role is %q (allowed: %q, %q, %q, or nothing for a buyer)",
			a.Role, authtoken.RoleAdmin, authtoken.RoleMerchant, authtoken.RoleTill)
	case inShop && (a.Shop < 1 || a.Shop > voucher.MaxID):
		return fmt.Sprintf("-shop is %d, or missing (a %s needs one: 1 to %d)", a.Shop, a.Role, voucher.MaxID)
	case !inShop && a.Shop != 0:
		return "-shop is for tills and merchants (-role till, -role merchant) only"
	}
	return ""
}

// wrongForBuyer is wrongAccount for the flags for buyers only: -level and -agedays.
func wrongForBuyer(a authtoken.Account, ageDays int64) string {
	switch {
	case a.Role != "" && (a.Level != 0 || ageDays != 0):
		return "-level and -agedays are for buyers (no -role) only"
	case a.Level < 0 || a.Level > voucher.MaxID:
		return fmt.Sprintf("-level is %d (allowed: 0, for none, to %d)", a.Level, voucher.MaxID)
	case ageDays < 0 || ageDays > maxAgeDays:
		return fmt.Sprintf("-agedays is %d (allowed: 0, for none, to %d)", ageDays, maxAgeDays)
	}
	return ""
}

// secretOf returns the secret that signs tokens: the configured secret, or the embedded mode's.
func secretOf(cfg config.Config) (string, error) {
	if secret := cfg.JWT.Secret.Reveal(); secret != "" {
		return secret, nil
	}
	secret, err := embedded.ReadSecret(cfg.Stores.DataDir)
	if errors.Is(err, embedded.ErrNoSecret) {
		return "", fmt.Errorf("there is no secret in %s yet: start the service once (make run), or set "+
			"SECKILL_JWT_SECRET", cfg.Stores.DataDir)
	}
	return secret, err
}

// chosenLife returns how long a token is valid: ttl; if the flag is not given, at most the role's longest life.
func chosenLife(set *flag.FlagSet, ttl, longest time.Duration) (time.Duration, error) {
	if cmdline.Given(set, "ttl") && longest > 0 && ttl > longest {
		return 0, cmdline.Misuse(set,
			fmt.Sprintf("-ttl is %s, but the service accepts tokens of this role for %s at most "+
				"(SECKILL_JWT_MAX_LIFE, SECKILL_JWT_ADMIN_MAX_LIFE)", ttl, longest))
	}
	return wiring.Within(ttl, longest), nil
}

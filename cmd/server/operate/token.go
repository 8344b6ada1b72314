package operate

import (
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
	user := set.Int64("user", 0, "the user's `id`, a positive number (required)")
	role := set.String("role", "", "the `role`: \"admin\", \"merchant\", \"till\", or nothing for a buyer")
	shop := set.Int64("shop", 0, "the `id` of a merchant's or a till's shop")
	level := set.Int64("level", 0, "the `level` of a buyer's account, for sales with such a condition")
	ageDays := set.Int64("agedays", 0, "how many `days` old a buyer's account is, for sales with such a condition")
	ttl := set.Duration("ttl", 24*time.Hour, "how long the token is valid")
	if err := cmdline.Parse(env.Env, set, tokenHelp); err != nil {
		return err
	}
	of := account{*user, *role, *shop, *level, *ageDays}
	if wrong := of.wrong(); wrong != "" {
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
	life, err := chosenLife(set, *ttl, rules.Life(*role))
	if err != nil {
		return err
	}
	signed, err := signToken(rules, of, life)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Out, signed)
	return err
}

// account is the holder of a token.
type account struct {
	user                 int64
	role                 string
	shop, level, ageDays int64
}

// wrong returns a text about the first flag with a value that is not allowed, and the allowed values; "" if all are
// right.
func (a account) wrong() string {
	inShop := a.role == authtoken.RoleTill || a.role == authtoken.RoleMerchant
	switch {
	case a.user < 1 || a.user > voucher.MaxID:
		return fmt.Sprintf("-user is %d, or missing (allowed: 1 to %d)", a.user, voucher.MaxID)
	case a.role != "" && a.role != authtoken.RoleAdmin && !inShop:
		return fmt.Sprintf("-role is %q (allowed: %q, %q, %q, or nothing for a buyer)",
			a.role, authtoken.RoleAdmin, authtoken.RoleMerchant, authtoken.RoleTill)
	case inShop && (a.shop < 1 || a.shop > voucher.MaxID):
		return fmt.Sprintf("-shop is %d, or missing (a %s needs one: 1 to %d)", a.shop, a.role, voucher.MaxID)
	case !inShop && a.shop != 0:
		return "-shop is for tills and merchants (-role till, -role merchant) only"
	}
	return a.wrongForBuyer()
}

// wrongForBuyer is the part of wrong that checks the flags for buyers only: -level and -agedays.
func (a account) wrongForBuyer() string {
	switch {
	case a.role != "" && (a.level != 0 || a.ageDays != 0):
		return "-level and -agedays are for buyers (no -role) only"
	case a.level < 0 || a.level > voucher.MaxID:
		return fmt.Sprintf("-level is %d (allowed: 0, for none, to %d)", a.level, voucher.MaxID)
	case a.ageDays < 0 || a.ageDays > maxAgeDays:
		return fmt.Sprintf("-agedays is %d (allowed: 0, for none, to %d)", a.ageDays, maxAgeDays)
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

// signToken returns a signed token for an account.
func signToken(rules authtoken.Rules, a account, life time.Duration) (string, error) {
	now := time.Now()
	switch {
	case a.shop != 0:
		return authtoken.SignIn(rules, a.user, a.role, a.shop, life, now)
	case a.role == "" && (a.level > 0 || a.ageDays > 0):
		since := time.Time{}
		if a.ageDays > 0 {
			since = now.AddDate(0, 0, -int(a.ageDays))
		}
		return authtoken.SignBuyer(rules, a.user, a.level, since, life, now)
	default:
		return authtoken.Sign(rules, a.user, a.role, life, now)
	}
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

package config

import (
	"fmt"
	"strings"

	"seckill/internal/authtoken"
)

// checkJWT requires a secret unless the embedded mode generates one, and refuses secrets that can be guessed.
func checkJWT(c *Config, ps *problems) {
	if previous := c.JWT.PreviousSecret; previous != "" {
		checkSecret("SECKILL_JWT_PREVIOUS_SECRET", previous, ps)
		if previous == c.JWT.Secret {
			ps.add("SECKILL_JWT_PREVIOUS_SECRET", "is the same as SECKILL_JWT_SECRET",
				"the secret that it replaces, or nothing")
		}
	}
	checkAdminSecrets(c, ps)
	switch {
	case c.JWT.Direct:
	case c.Embedded():
		ps.add("SECKILL_JWT_DIRECT", "is false in the embedded mode, which makes buyers' tokens itself",
			"true, or false with a Redis and a database")
	case c.Session.Issuers == "":
		ps.add("SECKILL_JWT_DIRECT", "is false, and SECKILL_ISSUERS is not set: nobody could buy",
			"true, or false with SECKILL_ISSUERS")
	}
	if c.JWT.Secret == "" && c.Embedded() && c.Stores.Embedded != "never" {
		return
	}
	checkSecret("SECKILL_JWT_SECRET", c.JWT.Secret, ps)
}

// checkAdminSecrets refuses secrets of admins that can be guessed, or that signers of buyers' tokens know, too.
func checkAdminSecrets(c *Config, ps *problems) {
	const name, previousName = "SECKILL_JWT_ADMIN_SECRET", "SECKILL_JWT_ADMIN_PREVIOUS_SECRET"
	secret, previous := c.JWT.AdminSecret, c.JWT.AdminPreviousSecret
	for _, s := range []struct {
		name   string
		secret Secret
	}{{name, secret}, {previousName, previous}} {
		switch s.secret {
		case "":
		case c.JWT.Secret, c.JWT.PreviousSecret, c.Payment.Secret:
			ps.add(s.name, "is another setting's secret too",
				"a secret of its own: who knows the other one could sign an admin's token")
		default:
			checkSecret(s.name, s.secret, ps)
		}
	}
	switch {
	case previous == "":
	case secret == "":
		ps.add(previousName, "is set without "+name, "both, or SECKILL_JWT_PREVIOUS_SECRET")
	case previous == secret:
		ps.add(previousName, "is the same as "+name, "the secret that it replaces, or nothing")
	}
}

// checkSecret requires a secret and refuses one that can be guessed.
func checkSecret(name string, s Secret, ps *problems) {
	const allowed = "32 bytes or more by chance, such as the output of: openssl rand -hex 32"
	switch secret := s.Reveal(); {
	case secret == "":
		ps.add(name, "is missing", allowed)
	case len(secret) < authtoken.MinSecret:
		ps.add(name, fmt.Sprintf("has %d bytes", len(secret)), allowed)
	case isGuessable(secret):
		ps.add(name, "can be guessed", allowed)
	}
}

// isGuessable reports whether a secret is a placeholder that was not replaced, or a short piece repeated. It finds
// careless secrets, not weak ones: no program can decide whether 32 bytes are random.
func isGuessable(secret string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(secret))
	for _, word := range []string{"changeme", "changethis", "replaceme", "replacethis", "yoursecret", "yourjwtsecret"} {
		if strings.Contains(plain, word) {
			return true
		}
	}
	const longest = 8 // a piece as long as "password"
	return isRepeated(secret, longest)
}

// isRepeated reports whether a text repeats a piece of at most longest bytes.
func isRepeated(text string, longest int) bool {
	for period := 1; period <= longest; period++ {
		if text[period:] == text[:len(text)-period] {
			return true
		}
	}
	return false
}

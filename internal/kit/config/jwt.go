package config

import (
	"fmt"
	"strings"

	"seckill/internal/kit/authtoken"
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
	if c.JWT.Secret == "" && c.Embedded() && c.Stores.Embedded != "never" {
		return
	}
	checkSecret("SECKILL_JWT_SECRET", c.JWT.Secret, ps)
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
	for period := 1; period <= longest; period++ {
		if secret[period:] == secret[:len(secret)-period] {
			return true
		}
	}
	return false
}

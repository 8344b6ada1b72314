package config

import (
	"log/slog"

	"github.com/go-sql-driver/mysql"
)

// masked is printed instead of a secret.
const masked = "***"

// Secret is text that must not be printed. Every way of printing it (fmt, log/slog, JSON) shows only whether it is set.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a mask, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue is String, for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, for JSON and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Weak describes secrets that are valid and should not be used: for people who start the service or check a sale.
type Weak struct {
	Settings string // the variables' names
	Shared   bool   // the holder of one of the settings holds the other; else it is a short piece repeated
}

// WeakSecrets returns the secrets that two purposes share, or that are short pieces repeated. Load refuses secrets that
// are certainly wrong.
func (c Config) WeakSecrets() (all []Weak) {
	type named struct {
		name   string
		secret Secret
	}
	secrets := []named{
		{"SECKILL_JWT_SECRET", c.JWT.Secret},
		{"SECKILL_JWT_PREVIOUS_SECRET", c.JWT.PreviousSecret},
		{"SECKILL_JWT_ADMIN_SECRET", c.JWT.AdminSecret},
		{"SECKILL_JWT_ADMIN_PREVIOUS_SECRET", c.JWT.AdminPreviousSecret},
		{"SECKILL_GUARD_SECRET", c.Guards.Secret},
		{"SECKILL_PAYMENT_SECRET", c.Payment.Secret},
	}
	for _, p := range c.Payment.Remote() {
		secrets = append(secrets, named{secretsSetting + " of " + p.Name, p.Secret},
			named{previousSetting + " of " + p.Name, p.Previous})
	}
	for i, s := range secrets {
		if s.secret == "" {
			continue
		}
		for _, other := range secrets[:i] {
			if other.secret == s.secret {
				all = append(all, Weak{other.name + ", " + s.name, true})
			}
		}
		if isRepeated(s.secret.Reveal(), len(s.secret)/2) {
			all = append(all, Weak{s.name, false})
		}
	}
	return all
}

// DSN is a data source name of go-sql-driver/mysql; it contains a password. Printing it shows only the user, network,
// address and database, or only *** if it cannot be parsed.
type DSN string

// Reveal returns the whole data source name, for opening the database.
func (d DSN) Reveal() string { return string(d) }

// String returns user, address and database.
func (d DSN) String() string {
	if d == "" {
		return ""
	}
	parsed, err := mysql.ParseDSN(string(d))
	if err != nil {
		return masked
	}
	// Built from its parts, because other parts of a data source name may be secret, too.
	return parsed.User + ":" + masked + "@" + parsed.Net + "(" + parsed.Addr + ")/" + parsed.DBName
}

// GoString is String, for %#v.
func (d DSN) GoString() string { return `"` + d.String() + `"` }

// LogValue is String, for log/slog.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText is String, for JSON and the like.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

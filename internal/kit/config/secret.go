package config

import (
	"log/slog"

	"github.com/go-sql-driver/mysql"
)

// masked is what is printed in place of a secret.
const masked = "***"

// Secret is text that must not be printed. However it is printed (fmt, log/slog, JSON), it shows only whether it is
// set.
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

// DSN is a data source name of go-sql-driver/mysql, which holds a password. However it is printed, it shows user,
// address and database only; one that cannot be parsed shows nothing.
type DSN string

// Reveal returns the name itself, for opening the database.
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
	// Built from its parts: whatever else a data source name may carry is not known to be harmless.
	return parsed.User + ":" + masked + "@" + parsed.Net + "(" + parsed.Addr + ")/" + parsed.DBName
}

// GoString is String, for %#v.
func (d DSN) GoString() string { return `"` + d.String() + `"` }

// LogValue is String, for log/slog.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText is String, for JSON and the like.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

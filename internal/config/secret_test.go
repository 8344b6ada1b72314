package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	c, err := Load(withStores("SECKILL_REDIS_PASSWORD=swordfish"))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal([]any{c, c.JWT, c.MySQL})
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("text", "config", c, "secret", c.JWT.Secret, "dsn", c.MySQL.DSN)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("json", "config", c, "secret", c.JWT.Secret, "dsn",
		c.MySQL.DSN, "group", c.Redis)
	for form, text := range map[string]string{
		"String": c.String(),
		"%v":     fmt.Sprintf("%v", c),
		"%+v":    fmt.Sprintf("%+v %+v %+v", c, c.JWT, &c.MySQL),
		"%#v":    fmt.Sprintf("%#v %#v", c, c.Redis),
		"%q":     fmt.Sprintf("%q %q", c.JWT.Secret, c.MySQL.DSN),
		"%s":     fmt.Sprintf("%s %s", c.JWT.Secret, c.MySQL.DSN),
		"JSON":   string(asJSON),
		"log":    logged.String(),
	} {
		if !strings.Contains(text, masked) {
			t.Errorf("%s has no mask: %s", form, text)
		}
		for _, secret := range []string{goodSecret, "swordfish", "hunter2"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s: %s", form, secret, text)
			}
		}
	}
	if c.JWT.Secret.Reveal() != goodSecret || c.MySQL.DSN.Reveal() != goodDSN {
		t.Error("Reveal does not")
	}
}

func TestStringShowsWhatIsNotSecret(t *testing.T) {
	t.Parallel()
	c, err := Load(withStores("SECKILL_CORS_ORIGINS=https://a.example,https://b.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"SECKILL_HTTP_ADDR=:8080\n", "SECKILL_CORS_ORIGINS=https://a.example,https://b.example\n",
		"SECKILL_REDIS_PASSWORD=\n", "SECKILL_MYSQL_DSN=shop:***@tcp(mysql:3306)/seckill\n", "SECKILL_JWT_SECRET=***\n",
		"SECKILL_MAX_WAIT=30s\n", "SECKILL_LOG_LEVEL=INFO\n",
	} {
		if !strings.Contains(c.String(), line) {
			t.Errorf("no line %q in\n%s", line, c)
		}
	}
}

func TestProblemsShowNoSecret(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{
		withStores("SECKILL_JWT_SECRET=hunter2"),
		withStores("SECKILL_JWT_SECRET=" + strings.Repeat("hunter2", 5)),
		withStores("SECKILL_MYSQL_DSN=shop:hunter2@tcp(mysql:3306)"),
		withStores("SECKILL_MYSQL_DSN=shop:x@hunter2/y@tcp(mysql:3306)"),
		withStores("SECKILL_MYSQL_DSN=mysql://shop:hunter2@mysql:3306/seckill"),
		withStores("SECKILL_MYSQL_DSN=hunter2"),
		withStores("SECKILL_MYSQL_DSN=shop:x@tcp(mysql)/seckill?timeout=hunter2"),
	} {
		_, err := Load(environ)
		if err == nil {
			t.Errorf("%v: no error", environ[len(environ)-1])
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	}
}

func TestDSNThatCannotBeParsedShowsNothing(t *testing.T) {
	t.Parallel()
	if got := DSN("shop:hunter2@tcp(mysql").String(); got != masked {
		t.Errorf("shown as %s", got)
	}
}

// Valid secrets that should not be used are named, never shown.
func TestWeakSecrets(t *testing.T) {
	t.Parallel()
	digits := Secret(strings.Repeat("0123456789", 4))
	for name, tc := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"good": {func(c *Config) { c.JWT.Secret = goodSecret }, ""},
		"none": {func(*Config) {}, ""},
		"one secret": {
			func(c *Config) { c.JWT.Secret, c.Payment.Secret = goodSecret, goodSecret },
			"SECKILL_JWT_SECRET, SECKILL_PAYMENT_SECRET",
		},
		"digits": {func(c *Config) { c.Payment.Secret = digits }, "SECKILL_PAYMENT_SECRET"},
		"half and half": {
			func(c *Config) { c.Guards.Secret = "0123456789abcdef0123456789abcdef" }, "SECKILL_GUARD_SECRET",
		},
	} {
		var c Config
		tc.set(&c)
		var got []string
		for _, w := range c.WeakSecrets() {
			got = append(got, w.Settings)
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

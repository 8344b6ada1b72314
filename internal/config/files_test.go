package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written writes the text to a new file and returns its path.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every secret may come from a file. Trailing line ends are not part of the secret.
func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	var environ []string
	want := map[string]string{}
	for i, s := range settings() {
		if !s.isSecret() || strings.HasPrefix(s.name(), providersSetting[:len(providersSetting)-1]+"_") {
			continue // those of providers: TestProviders
		}
		want[s.name()] = goodSecret + strings.Repeat("x", i) // all different
		if s.name() == "SECKILL_MYSQL_DSN" {
			want[s.name()] = goodDSN
		}
		environ = append(environ, s.name()+fileSuffix+"="+written(t, want[s.name()]+"\r\n"))
	}
	if len(want) < 6 {
		t.Fatalf("found only %d secret settings", len(want))
	}
	c, err := Load(append(environ, "SECKILL_REDIS_ADDRS=a:1", "SECKILL_REDIS_MODE=sentinel",
		"SECKILL_REDIS_MASTER=shop", "SECKILL_PAYMENT_PROVIDER=sandbox"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(c.String(), goodSecret) {
		t.Errorf("a secret is printed: %s", c)
	}
	for _, s := range settings() {
		if want[s.name()] != "" && revealed(&c, s) != want[s.name()] {
			t.Errorf("%s differs from its file", s.name())
		}
	}
}

// revealed returns a secret's plain text.
func revealed(c *Config, s setting) string {
	switch v := s.in(c).Interface().(type) {
	case Secret:
		return v.Reveal()
	case DSN:
		return v.Reveal()
	}
	return ""
}

func TestFilesRefused(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	for name, tc := range map[string]struct {
		environ []string
		says    string
	}{
		"both": {
			[]string{"SECKILL_JWT_SECRET_FILE=" + written(t, goodSecret)},
			"SECKILL_JWT_SECRET is set, and so is SECKILL_JWT_SECRET_FILE",
		},
		"no file": {
			[]string{"SECKILL_GUARD_SECRET_FILE=" + missing},
			"SECKILL_GUARD_SECRET cannot be read from SECKILL_GUARD_SECRET_FILE: open " + missing,
		},
		"an empty file": {
			[]string{"SECKILL_GUARD_SECRET_FILE=" + written(t, "\n")}, "is not in SECKILL_GUARD_SECRET_FILE",
		},
		"no secret": {
			[]string{"SECKILL_LOG_LEVEL_FILE=" + missing}, "SECKILL_LOG_LEVEL_FILE is not a setting",
		},
		"an unsafe secret":    {[]string{"SECKILL_GUARD_SECRET_FILE=" + written(t, "short")}, "has 5 bytes"},
		"no authorities":      {[]string{"SECKILL_MYSQL_CA_FILE=" + missing}, "SECKILL_MYSQL_CA_FILE cannot be read"},
		"authorities, no PEM": {[]string{"SECKILL_MYSQL_CA_FILE=" + written(t, "x")}, "has no certificate"},
		"authorities, no TLS": {[]string{"SECKILL_REDIS_CA_FILE=" + missing}, "SECKILL_REDIS_TLS is not"},
		"authorities, but TLS checks nothing": {
			[]string{"SECKILL_MYSQL_CA_FILE=" + missing, "SECKILL_MYSQL_DSN=" + goodDSN + "?tls=skip-verify"},
			"tls=skip-verify, with which SECKILL_MYSQL_CA_FILE would check nothing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(withStores(tc.environ...))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), goodSecret) {
				t.Errorf("the message gives a secret away: %v", err)
			}
		})
	}
}

// A byte order mark and blanks before a line end are no part of a secret; other blanks are.
func TestSecretIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n\r\n": "secret", "\ufeffsecret\r\n": "secret",
		"secret \n": "secret", "secret\t \r\n \n": "secret", "secret ": "secret ", " a b\n": " a b", "\ufeff\n": "",
		" \n": "",
	} {
		if got := secretIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

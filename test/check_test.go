package test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/freeport"
	"seckill/test/box"
)

// TestCheck runs the list before a sale against real stores. Their configuration, and how busy this machine is, decide
// whether it is a go; but deliberate faults must be a no, and correct facts must not.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 2)
	id := s.CreateWindow(t, 40, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	flags := []string{"check", "-voucher", strconv.FormatInt(id, 10)}
	check := func(words []string, args ...string) {
		t.Helper()
		// The servers of the tests keep no append-only file.
		expectOutput(t, s, 3, append([]string{"NO-GO", "redis.durability", "appendonly"}, words...),
			append(flags, args...)...)
	}
	check([]string{
		"40 units from", "ok       sale.units", "ok       redis.clock", "ok       ledger.clock",
		"nothing since it was created", "2: ", "ok       instances.versions", "payment.provider",
	})
	check([]string{"共 40 份", "时钟", "2 个："}, "-lang", "zh")

	export := fmt.Sprintf("/admin/voucher/%d/orders.csv", id)
	s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: s.URL(export), Token: box.AdminToken()})
	check([]string{"ok       sale.changes", "nothing since it was created"}) // an export is not a change

	box.NewClient(t).Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher/" + strconv.FormatInt(id, 10) + "/pause"),
		Token: box.AdminToken(),
	})
	check([]string{"no       sale.window", "the sale is paused", "warning  sale.changes", "pause"})
	expectOutput(t, s, 2, []string{"-lang is", "en, zh"}, "check", "-lang", "fr")
	expectOutput(t, s, 1, []string{"no voucher 4711"}, "check", "-voucher", "4711")
	for _, command := range []string{"check", "reconcile"} { // 0 is not all of them
		expectOutput(t, s, 2, []string{"-voucher is 0", "1 to"}, command, "-voucher", "0")
	}
}

// TestCheckOfSecrets checks that secrets which should be replaced are named before a sale and at the start, without
// their values, and that others are not.
func TestCheckOfSecrets(t *testing.T) {
	t.Parallel()
	const jwt, payment, guards = "SECKILL_JWT_SECRET", "SECKILL_PAYMENT_SECRET", "SECKILL_GUARD_SECRET"
	digits := strings.Repeat("0123456789", 4)
	s := box.RealSite(t, 1) // whose two secrets are one
	if log := s.Servers[0].Log.String(); !strings.Contains(log, jwt+", "+payment) || strings.Contains(log, box.Secret) {
		t.Errorf("the log of the start does not name the secret that two settings share, or shows it:\n%s", log)
	}
	for name, tc := range map[string]struct {
		settings map[string]string
		lang     string
		want     []string // the lines about secrets
	}{
		"one for two": {nil, "en", []string{"warning  " + jwt + ", " + payment + ": one secret for both"}},
		"in Chinese":  {nil, "zh", []string{"warning  " + jwt + ", " + payment + ": 两处使用同一个密钥"}},
		"a piece repeated": {
			map[string]string{payment: digits}, "en", []string{"warning  " + payment + ": a short piece repeated"},
		},
		"two pieces repeated": {
			map[string]string{payment: digits, guards: strings.Repeat("0123456789abcdef", 2)}, "en", []string{
				"warning  " + guards + ": a short piece repeated", "warning  " + payment + ": a short piece repeated",
			},
		},
		"good ones": {map[string]string{payment: adminSecret}, "en", nil},
	} {
		settings := maps.Clone(s.Servers[0].Settings)
		maps.Copy(settings, tc.settings)
		got := box.Command(t, settings, "check", "-lang", tc.lang)
		var lines []string
		for line := range strings.Lines(got.Stdout) {
			if strings.Contains(line, "_SECRET") {
				lines = append(lines, line)
			}
		}
		same := slices.EqualFunc(lines, tc.want, strings.HasPrefix)
		if !same || strings.Contains(got.Stdout, box.Secret) || strings.Contains(got.Stdout, digits) {
			t.Errorf("%s: %q, want %q\n%s%s", name, lines, tc.want, got.Stdout, got.Stderr)
		}
	}
}

// TestCheckWithoutStores checks that a store that is down or hangs affects only its own lines, and that all others are
// still reported in time.
func TestCheckWithoutStores(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	id := strconv.FormatInt(s.CreateWindow(t, 40, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour)), 10)
	nobody, err := freeport.TakeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	silent := silentServer(t)
	for name, tc := range map[string]struct {
		setting, value string
		words, not     []string
	}{
		"Redis is away": {
			"SECKILL_REDIS_ADDRS", nobody, []string{
				"no       redis.answers", "ok       sale.window", "warning  sale.units", "ledger.durability",
				"warning  ledger.connections",
			}, []string{"redis.durability"},
		},
		"Redis hangs": {
			"SECKILL_REDIS_ADDRS", silent, []string{
				"no       redis.answers", "ok       sale.window", "ledger.durability",
			}, []string{"redis.durability"},
		},
		"the ledger is away": {
			"SECKILL_MYSQL_DSN", "root@tcp(" + nobody + ")/x", []string{
				"no       ledger.answers", "no       sale.window", "redis.durability", "1: ", "warning  orders.waiting",
			}, []string{"sale.units"},
		},
		"the ledger hangs": {
			"SECKILL_MYSQL_DSN", "root@tcp(" + silent + ")/x", []string{
				"no       ledger.answers", "no       sale.window", "redis.durability",
			}, []string{"sale.units"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := maps.Clone(s.Servers[0].Settings)
			settings[tc.setting] = tc.value
			got := box.Command(t, settings, "check", "-voucher", id)
			if got.Code != 3 || !strings.HasSuffix(got.Stdout, "NO-GO\n") {
				t.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
			for _, word := range tc.words {
				if !strings.Contains(got.Stdout, word) {
					t.Errorf("no %q in\n%s", word, got.Stdout)
				}
			}
			for _, word := range tc.not {
				if strings.Contains(got.Stdout, word) {
					t.Errorf("%q in\n%s", word, got.Stdout)
				}
			}
		})
	}
}

// silentServer returns the address of a server that accepts connections but never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

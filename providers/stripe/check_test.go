package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seckill/providers/stripe/internal/bridge"
	"seckill/providers/stripe/internal/check"
	"seckill/providers/stripe/standin"
)

// check runs the command, and returns what it says.
func (r *rig) check(args ...string) (string, error) {
	r.Helper()
	var out strings.Builder
	err := run(r.Context(), append([]string{"check", "-wait", "10s"}, args...), r.getenv, &out, io.Discard)
	return out.String(), err
}

// TestCheck goes from a key alone to an account that is set up, as docs/stripe.md does.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := newRig(t, standin.Options{})
	at := "http://127.0.0.1:" + freePort(t)
	r.env["LISTEN"] = strings.TrimPrefix(at, "http://")
	delete(r.env, "STRIPE_WEBHOOK_SECRET")
	says := func(wrong bool, args []string, want ...string) string {
		t.Helper()
		out, err := r.check(args...)
		if errors.Is(err, check.ErrFound) != wrong || err != nil && !wrong {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%v does not say %q:\n%s", args, w, out)
			}
		}
		return out
	}
	says(false, nil, "ok     key       account acct_standin in DE", "note   mode      test: no money moves",
		"EUR; the account's own is EUR", "ok     service", "say -url", "ok     session   made and ended in EUR")
	says(true, []string{"-url", at}, "WRONG  endpoint  none at "+at+"/stripe/ in this mode", "charge.dispute.closed")
	made := says(false, []string{"-url", at, "-create"}, "made we_", "STRIPE_WEBHOOK_SECRET=whsec_")
	_, secret, _ := strings.Cut(made, "STRIPE_WEBHOOK_SECRET=")
	r.env["STRIPE_WEBHOOK_SECRET"], _, _ = strings.Cut(secret, "\n")
	r.start()
	says(false, []string{"-url", at}, "has all events", "ok     delivery  Stripe's event has arrived")
	if r.service.next(t, "check").ID == "" {
		t.Error("the service is not asked")
	}
}

// TestCheckFinds has each mistake answered with a sentence that says what to do.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(r *rig)
		args   []string
		says   string
	}{
		"a wrong key": {
			func(r *rig) { r.env["STRIPE_API_KEY"] = "sk_test_another" }, nil, "copy it again from the Dashboard",
		},
		"the service's secret": {
			func(r *rig) { r.env["SECKILL_PAYMENT_SECRET"] = "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }, nil,
			"is not the secret in its SECKILL_PAYMENT_PROVIDER_SECRETS",
		},
		"the provider's name": {
			func(r *rig) { r.env["SECKILL_URL"] = r.service.at.URL + "/payment/callback/other" }, nil,
			"must end with its name in SECKILL_PAYMENT_PROVIDERS",
		},
		"no service": {
			func(r *rig) { r.env["SECKILL_URL"] = "http://127.0.0.1:1/payment/callback/cards" }, nil,
			"SECKILL_URL: the service does not",
		},
		"a currency": {nil, []string{"-currency", "CNY"}, "the Stripe account does not take this currency"},
		"no address": {nil, []string{"-url", "shop"}, `"shop" is no address`},
		"another mode": {
			func(r *rig) { r.stripe.AddEndpoint("http://127.0.0.1:1/", "whsec_1", "*") },
			[]string{"-url", "https://shop.example"},
			"in this mode (there are 1 others)",
		},
		"events missing": {
			func(r *rig) { r.stripe.AddEndpoint("http://127.0.0.1:1/stripe/", "whsec_1", "refund.failed") },
			[]string{"-url", "http://127.0.0.1:1"},
			"lacks events: run this again with -create",
		},
		"disabled": {func(r *rig) {
			r.stripe.AddEndpoint("http://127.0.0.1:1/stripe/", "whsec_1", "*")
			r.stripe.Disable()
		}, []string{"-url", "http://127.0.0.1:1"}, "is disabled: enable it in the Dashboard"},
		"the endpoint's secret": {func(r *rig) {
			r.env["STRIPE_WEBHOOK_SECRET"] = "whsec_of_another_endpoint"
			r.start()
			r.stripe.AddEndpoint(r.url+"/stripe/", webhookSecret, "*")
			r.env["AT"] = r.url
		}, []string{"-wait", "200ms", "-url", "AT"}, "STRIPE_WEBHOOK_SECRET is not this endpoint's signing secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, standin.Options{})
			if tc.change != nil {
				tc.change(r)
			}
			args := strings.Split(strings.ReplaceAll(strings.Join(tc.args, "\n"), "AT", r.env["AT"]), "\n")
			if len(tc.args) == 0 {
				args = nil
			}
			out, err := r.check(args...)
			if !errors.Is(err, check.ErrFound) || !strings.Contains(out, tc.says) {
				t.Errorf("%v; it does not say %q:\n%s", err, tc.says, out)
			}
		})
	}
}

func TestCheckAddsEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, standin.Options{})
	r.stripe.AddEndpoint("http://127.0.0.1:1/stripe/", "whsec_1", "refund.failed", "customer.created")
	out, err := r.check("-wait", "1ms", "-create", "-url", "http://127.0.0.1:1")
	if !strings.Contains(out, "added to we_") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := r.check("-wait", "1ms", "-url", "http://127.0.0.1:1"); !strings.Contains(out, "has all events") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSettings has each setting that is missing or wrong answered with a sentence that says what to do.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change map[string]string
		says   string
	}{
		"no key":           {map[string]string{"STRIPE_API_KEY": ""}, "is in Stripe's Dashboard"},
		"publishable":      {map[string]string{"STRIPE_API_KEY": "pk_test_1"}, "the publishable key"},
		"a secret as key":  {map[string]string{"STRIPE_API_KEY": "whsec_1"}, "that one is STRIPE_WEBHOOK_SECRET"},
		"no key at all":    {map[string]string{"STRIPE_API_KEY": "1234"}, "begins with sk_test_, sk_live_"},
		"no secret":        {map[string]string{"STRIPE_WEBHOOK_SECRET": ""}, "check -create makes the endpoint"},
		"a key as secret":  {map[string]string{"STRIPE_WEBHOOK_SECRET": apiKey}, "it begins with whsec_"},
		"a bad previous":   {map[string]string{"STRIPE_WEBHOOK_PREVIOUS_SECRET": "x"}, "PREVIOUS_SECRET is no"},
		"no service":       {map[string]string{"SECKILL_URL": ""}, "/payment/callback/ and the provider's name"},
		"no name":          {map[string]string{"SECKILL_URL": "http://server-1:8080"}, "name at its end"},
		"no shared secret": {map[string]string{"SECKILL_PAYMENT_SECRET": ""}, "openssl rand -base64 32"},
		"a bad shared":     {map[string]string{"SECKILL_PAYMENT_SECRET": "whsec_short"}, "base64 of 24 to 64 bytes"},
		"the same":         {map[string]string{"STRIPE_WEBHOOK_SECRET": sharedSecret}, "the first is Stripe's"},
		"no file":          {map[string]string{"STRIPE_WEBHOOK_PREVIOUS_SECRET_FILE": "/no"}, "SECRET_FILE: open"},
		"twice":            {map[string]string{"STRIPE_API_KEY_FILE": "/dev/null"}, "which one is it?"},
		"a bad address":    {map[string]string{"STRIPE_API_URL": "localhost"}, "STRIPE_API_URL is no address"},
	} {
		r := rig{T: t, env: map[string]string{
			"STRIPE_API_KEY": apiKey, "STRIPE_WEBHOOK_SECRET": webhookSecret, "SECKILL_PAYMENT_SECRET": sharedSecret,
			"SECKILL_URL": "http://127.0.0.1:1/payment/callback/cards", "LISTEN": "127.0.0.1:0",
		}}
		maps.Copy(r.env, tc.change)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what starts ends at once
		err := run(ctx, nil, r.getenv, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecretFiles reads secrets from files as editors leave them.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	r := openRig(t, standin.Options{}, func(env map[string]string) {
		for name, value := range map[string]string{
			"STRIPE_API_KEY": "\ufeff" + apiKey + "\n", "STRIPE_WEBHOOK_SECRET": webhookSecret + " \r\n",
			"SECKILL_PAYMENT_SECRET": sharedSecret + "\n",
		} {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
			env[name], env[name+"_FILE"] = "", file
		}
	})
	r.paid()
	if err := run(t.Context(), []string{"health"}, r.getenv, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, args := range [][]string{{"--help"}, {"help"}, {"version"}, {"check", "--help"}} {
		if err := run(t.Context(), args, func(string) string { return "" }, &out, io.Discard); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, want := range []string{
		"STRIPE_API_KEY ", "SECKILL_URL ", "LISTEN ", ":8090 if it is not set", "NAME_FILE", "-create", "stripe.md",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, args := range [][]string{{"nothing"}, {"serve", "more"}, {"check", "more"}, {"check", "-x"}} {
		err := run(t.Context(), args, func(string) string { return "" }, io.Discard, io.Discard)
		if !errors.Is(err, errUsage) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestDocumented holds the pages about Stripe to the settings and the events.
func TestDocumented(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"stripe.md", "stripe.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range bridge.Events() {
			if !strings.Contains(string(text), "`"+event+"`") {
				t.Errorf("%s does not name %s", page, event)
			}
		}
		for _, name := range settingNames() {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not name %s", page, name)
			}
		}
	}
}

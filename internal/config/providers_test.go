package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	cardsSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	bankSecret  = "whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// TestProviders reads providers over HTTP, in the order in which they are set, with their secrets.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"variables": {
			"SECKILL_PAYMENT_PROVIDER_SECRETS=bank=" + bankSecret + ", cards=" + cardsSecret,
			"SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS=cards=" + bankSecret,
		},
		"files": {
			"SECKILL_PAYMENT_PROVIDER_SECRETS_FILE=" + written(t, "bank="+bankSecret+"\r\ncards="+cardsSecret+"\n"),
			"SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS_FILE=" + written(t, "cards="+bankSecret),
		},
	} {
		c, err := Load(withStores(append(environ,
			"SECKILL_PAYMENT_PROVIDERS=cards=https://pay.example/a?b=c, bank=http://10.0.0.7:90/",
			"SECKILL_PAYMENT_PROVIDER_ALLOW=10.0.0.7,192.168.0.0/16")...))
		if err != nil {
			t.Fatal(name, err)
		}
		var got []string
		for _, p := range c.Payment.Remote() {
			got = append(got, p.Name+" "+p.URL.String()+" "+p.Secret.Reveal()+" "+p.Previous.Reveal())
		}
		want := []string{
			"cards https://pay.example/a?b=c " + cardsSecret + " " + bankSecret,
			"bank http://10.0.0.7:90/ " + bankSecret + " ",
		}
		if diff := cmp.Diff(want, got); diff != "" || !c.Payment.HasProvider() || len(c.Payment.Networks()) != 2 {
			t.Error(name, diff)
		}
		if strings.Contains(c.String(), "whsec_") {
			t.Errorf("a secret is printed: %s", c)
		}
	}
	c, err := Load([]string{ // the embedded mode has no sandbox then
		"SECKILL_PAYMENT_PROVIDERS=cards=https://pay.example", "SECKILL_PAYMENT_PROVIDER_SECRETS=cards=" + cardsSecret,
	})
	if err != nil || c.Payment.Provider != NoPayments || !c.Payment.HasProvider() {
		t.Errorf("%q, %v", c.Payment.Provider, err)
	}
}

func TestProvidersRefused(t *testing.T) {
	t.Parallel()
	const secrets = "SECKILL_PAYMENT_PROVIDER_SECRETS=cards=" + cardsSecret
	type found = map[string]string
	for name, tc := range map[string]struct {
		environ []string
		want    found
	}{
		"none beside it": {
			[]string{"SECKILL_PAYMENT_PROVIDER=none", "SECKILL_PAYMENT_PROVIDERS=cards=https://p.example", secrets},
			found{"SECKILL_PAYMENT_PROVIDER": "is none, but SECKILL_PAYMENT_PROVIDERS names who takes money"},
		},
		"the sandbox beside it": {
			[]string{
				"SECKILL_PAYMENT_PROVIDER=sandbox", "SECKILL_PAYMENT_PROVIDERS=cards=https://p.example", secrets,
				"SECKILL_PAYMENT_SECRET=" + goodSecret,
			},
			found{"SECKILL_PAYMENT_PROVIDER": "is sandbox, but SECKILL_PAYMENT_PROVIDERS names who takes money"},
		},
		"another name": {
			[]string{
				"SECKILL_PAYMENT_PROVIDERS=Cards=https://p.example",
				"SECKILL_PAYMENT_PROVIDER_SECRETS=Cards=" + cardsSecret,
			},
			found{"SECKILL_PAYMENT_PROVIDERS": `has the name "Cards"`},
		},
		"the sandbox's name": {
			[]string{
				"SECKILL_PAYMENT_PROVIDERS=sandbox=https://p.example",
				"SECKILL_PAYMENT_PROVIDER_SECRETS=sandbox=" + cardsSecret,
			},
			found{"SECKILL_PAYMENT_PROVIDERS": `has the name "sandbox"`},
		},
		"no name": {
			[]string{"SECKILL_PAYMENT_PROVIDERS=https://p.example"},
			found{"SECKILL_PAYMENT_PROVIDERS": `has the name "https://p.example"`},
		},
		"twice": {
			[]string{"SECKILL_PAYMENT_PROVIDERS=cards=https://p.example,cards=https://q.example", secrets},
			found{"SECKILL_PAYMENT_PROVIDERS": "has cards twice"},
		},
		"no address": {
			[]string{"SECKILL_PAYMENT_PROVIDERS=cards=p.example", secrets},
			found{"SECKILL_PAYMENT_PROVIDERS": "has no address of cards"},
		},
		"a password": {
			[]string{"SECKILL_PAYMENT_PROVIDERS=cards=https://a:b@p.example", secrets},
			found{"SECKILL_PAYMENT_PROVIDERS": "has no address of cards"},
		},
		"no secret": {
			[]string{"SECKILL_PAYMENT_PROVIDERS=cards=https://p.example"},
			found{"SECKILL_PAYMENT_PROVIDER_SECRETS": "has no secret of cards"},
		},
		"another form of secret": {
			[]string{
				"SECKILL_PAYMENT_PROVIDERS=cards=https://p.example",
				"SECKILL_PAYMENT_PROVIDER_SECRETS=cards=" + goodSecret,
			},
			found{"SECKILL_PAYMENT_PROVIDER_SECRETS": "has something that is no secret"},
		},
		"a secret of nobody": {
			[]string{secrets},
			found{"SECKILL_PAYMENT_PROVIDER_SECRETS": `has a secret of "cards", which is not in`},
		},
		"the same twice": {
			[]string{
				"SECKILL_PAYMENT_PROVIDERS=cards=https://p.example", secrets,
				"SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS=cards=" + cardsSecret,
			},
			found{"SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS": "has the same secret of cards"},
		},
		"no network": {
			[]string{"SECKILL_PAYMENT_PROVIDER_ALLOW=lan"}, found{"SECKILL_PAYMENT_PROVIDER_ALLOW": `has "lan"`},
		},
	} {
		got := problemsOf(t, withStores(tc.environ...))
		for setting, says := range tc.want {
			if !strings.HasPrefix(got[setting], says) || len(got) != len(tc.want) {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
			}
		}
	}
}

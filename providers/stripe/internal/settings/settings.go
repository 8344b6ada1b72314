// Package settings reads the program's settings from environment variables, and says in a sentence what is wrong with
// them. Secrets may stand in files: NAME_FILE instead of NAME.
package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Settings are the program's settings.
type Settings struct {
	APIKey        string
	WebhookSecret []string // of the endpoint at Stripe, and the previous one while it is changed
	ServiceURL    string   // where the service takes notices
	Secret        string   // shared with the service
	Listen        string
	APIURL        string // "": Stripe's
}

// Setting describes a setting for the help.
type Setting struct{ Name, Default, About string }

const (
	apiKey         = "STRIPE_API_KEY"
	webhookSecret  = "STRIPE_WEBHOOK_SECRET"
	previousSecret = "STRIPE_WEBHOOK_PREVIOUS_SECRET"
	serviceURL     = "SECKILL_URL"
	serviceSecret  = "SECKILL_PAYMENT_SECRET"
	listen         = "LISTEN"
	apiURL         = "STRIPE_API_URL"

	defaultListen = ":8090"
)

// All returns all settings, in the order in which one needs them.
func All() []Setting {
	return []Setting{
		{apiKey, "", "secret key (sk_…) or restricted key (rk_…) of the Stripe account"},
		{webhookSecret, "", "signing secret (whsec_…) of the account's webhook endpoint"},
		{previousSecret, "", "the one before, while Stripe signs with both"},
		{serviceURL, "", "where the service takes notices: http://server-1:8080/payment/callback/NAME"},
		{serviceSecret, "", "the secret of NAME in the service's SECKILL_PAYMENT_PROVIDER_SECRETS"},
		{listen, defaultListen, "address to listen on"},
		{apiURL, "", "another address than Stripe's, to try out"},
	}
}

// Need says which settings must be there.
type Need struct{ Webhook, Service bool }

// Read returns the settings of an environment, or an error with a sentence for each that is missing or wrong.
func Read(getenv func(string) string, need Need) (Settings, error) {
	r := reader{getenv: getenv}
	s := Settings{
		APIKey: r.text(apiKey), ServiceURL: r.text(serviceURL), Secret: r.text(serviceSecret), Listen: r.text(listen),
		APIURL: r.text(apiURL),
	}
	r.checkKey(s.APIKey)
	first, previous := r.text(webhookSecret), r.text(previousSecret)
	for _, secret := range []string{first, previous} {
		if secret != "" {
			s.WebhookSecret = append(s.WebhookSecret, secret)
		}
	}
	r.checkWebhook(first, previous, need.Webhook)
	r.checkService(s, first, need.Service)
	if s.APIURL != "" {
		if u, err := url.Parse(s.APIURL); err != nil || u.Host == "" {
			r.wrong("%s is no address", apiURL)
		}
	}
	if s.Listen == "" {
		s.Listen = defaultListen
	}
	return s, errors.Join(r.errs...)
}

// Live reports whether the key moves real money.
func (s Settings) Live() bool { return strings.Contains(s.APIKey, "_live_") }

type reader struct {
	getenv func(string) string
	errs   []error
}

func (r *reader) wrong(text string, args ...any) { r.errs = append(r.errs, fmt.Errorf(text, args...)) }

// text returns a setting, from its file if that is named. Blanks and a byte order mark around it are no part of it.
func (r *reader) text(name string) string {
	value, file := r.getenv(name), r.getenv(name+"_FILE")
	if file != "" {
		if value != "" {
			r.wrong("%s and %s_FILE are both set: which one is it?", name, name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			r.wrong("%s_FILE: %w", name, err)
		}
		value = string(text)
	}
	return strings.TrimSpace(strings.TrimPrefix(value, "\ufeff"))
}

func (r *reader) checkKey(key string) {
	kind, _, _ := strings.Cut(key, "_")
	switch {
	case key == "":
		r.wrong("%s is not set: the secret key is in Stripe's Dashboard under Developers, API keys", apiKey)
	case kind == "pk":
		r.wrong("%s is the publishable key (pk_…): the secret one (sk_…) or a restricted one (rk_…) is needed", apiKey)
	case kind == "whsec":
		r.wrong("%s is a signing secret (whsec_…): that one is %s; the key begins with sk_ or rk_",
			apiKey, webhookSecret)
	case kind != "sk" && kind != "rk":
		r.wrong("%s is no key of Stripe's: it begins with sk_test_, sk_live_, rk_test_ or rk_live_", apiKey)
	}
}

func (r *reader) checkWebhook(first, previous string, needed bool) {
	switch {
	case first == "" && needed:
		r.wrong("%s is not set: seckill-stripe check -create makes the endpoint and prints it", webhookSecret)
	case first != "" && !strings.HasPrefix(first, "whsec_"):
		r.wrong("%s is no signing secret: it begins with whsec_, and stands with the endpoint in the Dashboard",
			webhookSecret)
	case previous != "" && !strings.HasPrefix(previous, "whsec_"):
		r.wrong("%s is no signing secret: it begins with whsec_", previousSecret)
	}
}

func (r *reader) checkService(s Settings, webhook string, needed bool) {
	switch {
	case s.ServiceURL == "" && needed:
		r.wrong("%s is not set: it is the service's address with /payment/callback/ and the provider's name",
			serviceURL)
	case s.ServiceURL != "" && !isCallback(s.ServiceURL):
		r.wrong("%s is not as http://server-1:8080/payment/callback/cards, with the provider's name at its end",
			serviceURL)
	}
	switch {
	case s.Secret == "" && needed:
		r.wrong("%s is not set: make one with echo whsec_$(openssl rand -base64 32), and give it to the service, too",
			serviceSecret)
	case s.Secret != "" && s.Secret == webhook:
		r.wrong("%s and %s are the same: the first is Stripe's, the second is shared with the service",
			webhookSecret, serviceSecret)
	case s.Secret != "" && !isShared(s.Secret):
		r.wrong("%s is not whsec_ and the base64 of %d to %d bytes: make one with echo "+
			"whsec_$(openssl rand -base64 32)", serviceSecret, leastKey, mostKey)
	}
}

// isCallback reports whether a text is the address of a provider's callback.
func isCallback(text string) bool {
	const path = "/payment/callback/"
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") &&
		strings.Contains(u.Path, path) && !strings.HasSuffix(u.Path, path)
}

// The bounds of a key in Standard Webhooks, in bytes.
const leastKey, mostKey = 24, 64

// isShared reports whether a text is a secret of Standard Webhooks.
func isShared(text string) bool {
	encoded, is := strings.CutPrefix(text, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	return is && err == nil && len(key) >= leastKey && len(key) <= mostKey
}

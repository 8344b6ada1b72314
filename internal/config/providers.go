package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"seckill/internal/kit/signature"
)

// The settings of payment providers over HTTP.
const (
	providersSetting = "SECKILL_PAYMENT_PROVIDERS"
	secretsSetting   = "SECKILL_PAYMENT_PROVIDER_SECRETS"
	previousSetting  = "SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS"
)

// Provider is a payment provider over HTTP.
type Provider struct {
	Name             string
	URL              *url.URL
	Secret, Previous Secret // whsec_…; Previous may be empty
}

// Remote returns the payment providers over HTTP; the first is the default one.
func (p Payment) Remote() []Provider {
	var ps problems // Load has reported them
	return p.remote(&ps)
}

// Names returns the names of all providers that are set.
func (p Payment) Names() []string {
	names := make([]string, 0, len(p.Providers))
	for _, remote := range p.Remote() {
		names = append(names, remote.Name)
	}
	if p.Provider == SandboxPayments {
		names = append(names, SandboxPayments)
	}
	return names
}

// Unset returns the names among those of payments that are set no more, sorted. "" is the default provider's.
func (p Payment) Unset(of map[string]int64) (names []string) {
	set := p.Names()
	for name, n := range of {
		if n > 0 && !slices.Contains(set, name) && (name != "" || len(set) == 0) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// HasProvider reports whether anybody takes money.
func (p Payment) HasProvider() bool { return p.Provider != NoPayments || len(p.Providers) > 0 }

// Networks returns the addresses outside the public Internet where payment providers may be.
func (p Payment) Networks() []netip.Prefix { return networks(p.ProviderAllow) }

// remote reads the settings of providers over HTTP.
func (p Payment) remote(ps *problems) []Provider {
	const example = "cards=https://pay.shop.example/seckill, more behind a comma"
	secrets, previous := p.ProviderSecrets.named(secretsSetting, ps), p.ProviderPrevious.named(previousSetting, ps)
	all := make([]Provider, 0, len(p.Providers))
	for _, item := range p.Providers {
		name, address, _ := strings.Cut(item, "=")
		at, err := url.Parse(address)
		switch {
		case !isProviderName(name):
			ps.add(providersSetting, fmt.Sprintf("has the name %q", name),
				"names of a-z, 0-9, '-' and '_', up to 32, but not sandbox; "+example)
		case slices.ContainsFunc(all, func(other Provider) bool { return other.Name == name }):
			ps.add(providersSetting, "has "+name+" twice", example)
		case err != nil || !isWeb(at) || at.User != nil || at.Fragment != "":
			ps.add(providersSetting, "has no address of "+name, example) // not the text: it may have a password
		case secrets[name] == "":
			ps.add(secretsSetting, "has no secret of "+name, whsecForm)
		default:
			all = append(all, Provider{name, at, secrets[name], previous[name]})
		}
		if secrets[name] != "" && secrets[name] == previous[name] {
			ps.add(previousSetting, "has the same secret of "+name+" as "+secretsSetting,
				"the secret that it replaces, or nothing")
		}
	}
	for setting, named := range map[string]map[string]Secret{secretsSetting: secrets, previousSetting: previous} {
		for name := range named {
			if !slices.ContainsFunc(p.Providers, func(item string) bool { return strings.HasPrefix(item, name+"=") }) {
				ps.add(setting, fmt.Sprintf("has a secret of %q, which is not in %s", name, providersSetting),
					"names that are in it")
			}
		}
	}
	return all
}

// whsecForm is what secrets of providers look like.
const whsecForm = "NAME=whsec_…, more behind commas or in lines; make one: echo whsec_$(openssl rand -base64 32)"

// named returns the secrets by the names of providers.
func (s Secret) named(setting string, ps *problems) map[string]Secret {
	all := map[string]Secret{}
	between := func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }
	for item := range strings.FieldsFuncSeq(s.Reveal(), between) {
		name, secret, is := strings.Cut(strings.TrimSpace(item), "=")
		if _, err := signature.Key(secret); !is || name == "" || err != nil {
			ps.add(setting, "has something that is no secret", whsecForm) // it is not shown
			continue
		}
		all[name] = Secret(secret)
	}
	return all
}

// providerName matches what can be a provider's name: it is in paths, columns and metrics.
var providerName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

func isProviderName(name string) bool {
	return providerName.MatchString(name) && name != SandboxPayments && name != NoPayments
}

// checkProviders checks the settings of providers over HTTP. given is what was set as the provider.
func checkProviders(c *Config, given string, ps *problems) {
	p := c.Payment
	if len(p.Providers) > 0 && (given == NoPayments || given == SandboxPayments) {
		ps.add("SECKILL_PAYMENT_PROVIDER", fmt.Sprintf(
			"is %s, but %s names who takes money: which of the two is meant cannot be known", given, providersSetting),
			"auto, or nothing, beside "+providersSetting)
	}
	_ = p.remote(ps)
	checkNetworks("SECKILL_PAYMENT_PROVIDER_ALLOW", p.ProviderAllow, ps)
}

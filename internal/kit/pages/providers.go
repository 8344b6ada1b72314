package pages

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Provider is an identity provider with which users sign in on a page. The browser gets every field: none is secret.
type Provider struct {
	Issuer    string `json:"issuer"`
	Label     string `json:"label"`
	Authorize string `json:"authorize"` // where the browser goes
	Token     string `json:"token"`     // where the page fetches the token
	Client    string `json:"client"`
	Scope     string `json:"scope"`
	Access    bool   `json:"access"` // exchange the access token, not the ID token
}

// ProvidersText returns the providers in JSON, as the pages read them.
func (s Site) ProvidersText() (string, error) {
	if len(s.Providers) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(s.Providers)
	return string(b), err
}

// policyFor adds to a policy that pages may talk to the providers from which they fetch tokens, and load pictures from
// their hosts.
func (s Site) policyFor(policy string) (string, error) {
	origins := []string{"connect-src 'self'"}
	for _, p := range s.Providers {
		u, err := url.Parse(p.Token)
		if err != nil {
			return "", fmt.Errorf("pages: the address of a provider's tokens: %w", err)
		}
		if origin := u.Scheme + "://" + u.Host; !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	const pictures = "img-src 'self' data:"
	from := []string{pictures}
	for _, host := range s.PictureHosts {
		from = append(from, "https://"+host)
	}
	replace := strings.NewReplacer(origins[0], strings.Join(origins, " "), pictures, strings.Join(from, " "))
	return replace.Replace(policy), nil
}

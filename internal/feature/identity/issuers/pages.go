package issuers

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const maxLabel = 60 // bytes of a button's name

// Pages has the settings by which the pages of this service sign users in by an issuer: by authorization code with
// PKCE, as a client without a secret. With the zero value they do not.
type Pages struct {
	Authorize, Token string // the addresses to which pages send their user, and from which they fetch the token
	Client           string // the client id of the pages there
	Scope            string
	Label            string // the issuer's name on a button
}

// pages reads the settings of pages; the zero value if the member is missing.
func (e entry) pages(i Issuer) (p Pages) {
	raw, given := e.members["pages"]
	if !given {
		return p
	}
	members, err := object(raw)
	if err != nil {
		e.wrong.add(e.where, `"pages"`, err.Error(), "an object with authorize and token")
		return p
	}
	inner := entry{e.where + ": pages", members, e.wrong}
	inner.known(members, "authorize", "token", "client", "scope", "label")
	private := len(i.Networks) > 0
	p.Authorize, p.Token = inner.address("authorize", private), inner.address("token", private)
	const client = "what this service is called at the issuer as a public client, at most 255 bytes"
	if p.Client = inner.text("client", i.Kind == AccessToken, client); p.Client == "" {
		p.Client = i.Audience
	}
	if p.Scope = inner.text("scope", false, "words such as openid, separated by spaces"); p.Scope == "" {
		p.Scope = "openid"
	}
	if i.Kind == IDToken && !slices.Contains(strings.Fields(p.Scope), "openid") {
		e.wrong.add(inner.where, `"scope"`, fmt.Sprintf("is %.60q", p.Scope), "openid among its words, for an ID token")
	}
	if p.Label = inner.text("label", false, fmt.Sprintf("a name of at most %d bytes", maxLabel)); p.Label == "" {
		p.Label = hostOf(p.Authorize)
	}
	if len(p.Label) > maxName || len(p.Label) > maxLabel && members["label"] != nil {
		e.wrong.add(inner.where, `"label"`, fmt.Sprintf("has %d bytes", len(p.Label)),
			fmt.Sprintf("a name of at most %d bytes", maxLabel))
	}
	return p
}

// address reads an address to which browsers go.
func (e entry) address(name string, private bool) string {
	const allowed = "an https address without user and fragment; an http one only together with jwksNetworks"
	address := e.text(name, true, allowed)
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	// The host becomes part of the pages' Content-Security-Policy.
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		strings.ContainsAny(u.Host, "*;, '\"") || u.Scheme != "https" && (u.Scheme != "http" || !private) {
		e.wrong.add(e.where, `"`+name+`"`, fmt.Sprintf("is %.60q", address), allowed)
	}
	return address
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

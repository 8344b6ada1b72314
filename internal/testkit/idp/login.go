package idp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
)

// login is the state of the provider's page, on which people sign in, and the codes that it has issued.
type login struct {
	people map[string]map[string]any // their claims
	ssoAs  string                    // who is signed in at the provider already; "": nobody
	codes  map[string]granted
}

// granted is the sign-in for which a code was issued.
type granted struct{ name, redirect, challenge, nonce string }

// choice is the provider's page: a link for each of its people.
const choice = `<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1>
<p id="prompt">{{.Prompt}}</p>
<ul>{{range $name, $to := .To}}<li><a id="as-{{$name}}" href="{{$to}}">{{$name}}</a>{{end}}</ul>`

// Enrol adds a person with these claims, who can sign in on the provider's page.
func (p *Provider) Enrol(name string, claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.login.people == nil {
		p.login.people, p.login.codes = map[string]map[string]any{}, map[string]granted{}
	}
	p.login.people[name] = claims
}

// Remember makes the provider sign a person in without a question, unless prompt=login asks for one; "": nobody.
func (p *Provider) Remember(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.login.ssoAs = name
}

// Pages returns the members about the provider's page in its entry of the file of issuers.
func (p *Provider) Pages() map[string]any {
	return map[string]any{"authorize": p.Issuer() + "/authorize", "token": p.Issuer() + "/token", "label": "Mall"}
}

// authorize answers with the page. If a person is remembered, it redirects back at once.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("response_type") != "code" || q.Get("client_id") != Audience || q.Get("state") == "" ||
		q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" {
		http.Error(w, "not a request for a code with PKCE", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	to := map[string]string{}
	for name := range p.login.people {
		code := rand.Text()
		p.login.codes[code] = granted{name, q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce")}
		there := *back
		there.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.Issuer()}}.Encode()
		to[name] = there.String()
	}
	denied := *back
	denied.RawQuery = url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}.Encode()
	to["nobody"] = denied.String()
	if p.login.ssoAs != "" && q.Get("prompt") != "login" {
		http.Redirect(w, r, to[p.login.ssoAs], http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	page := template.Must(template.New("").Parse(choice))
	_ = page.Execute(w, map[string]any{"Prompt": q.Get("prompt"), "To": to}) // the client notices if it fails
}

// token exchanges a code for an ID token, once, for the client that began the sign-in. The client is public: it has no
// secret, and may be a page of any origin.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	_, _, basic := r.BasicAuth()
	if err := r.ParseForm(); err != nil || basic || r.Form.Has("client_secret") {
		http.Error(w, "a public client has no secret", http.StatusBadRequest)
		return
	}
	digest := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	p.mu.Lock()
	grant, known := p.login.codes[r.PostForm.Get("code")]
	delete(p.login.codes, r.PostForm.Get("code"))
	claims := maps.Clone(p.login.people[grant.name])
	p.mu.Unlock()
	if !known || grant.redirect != r.PostForm.Get("redirect_uri") || r.PostForm.Get("client_id") != Audience ||
		grant.challenge != base64.RawURLEncoding.EncodeToString(digest[:]) {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	if claims == nil {
		claims = map[string]any{}
	}
	if _, own := claims["nonce"]; !own {
		claims["nonce"] = grant.nonce
	}
	token, err := p.sign(grant.name, claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id_token": %q, "access_token": "opaque", "token_type": "Bearer", "expires_in": 3600}`,
		token) // the client notices if it fails
}

package openid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

const (
	client   = "seckill"
	callback = "http://127.0.0.1:1/callback" // nobody listens: the redirect there is read and not followed
	password = "verysecure"
)

// provider is the library's server, with users of our own.
type provider struct {
	server *httptest.Server
	users  storage.UserStore
	about  about

	mu      sync.Mutex
	works   http.Handler
	away    bool             // nothing is answered
	keys    http.HandlerFunc // how the keys are answered instead; nil: as they are
	fetches atomic.Int64     // of the keys
}

// about is what a provider says of itself.
type about struct {
	Issuer     string   `json:"issuer"`
	JWKS       string   `json:"jwks_uri"`
	Authorize  string   `json:"authorization_endpoint"`
	Token      string   `json:"token_endpoint"`
	Algorithms []string `json:"id_token_signing_alg_values_supported"`
}

// startProvider starts a provider with users user-0, user-1 and so on, and others.
func startProvider(t *testing.T, users int, others ...string) *provider {
	t.Helper()
	known := map[string]*storage.User{}
	for n := range users {
		others = append(others, fmt.Sprintf("user-%d", n))
	}
	for _, name := range others {
		known["id-of-"+name] = &storage.User{ID: "id-of-" + name, Username: name, Password: password}
	}
	b, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &provider{}
	if p.users, err = storage.StoreFromFile(file); err != nil {
		t.Fatal(err)
	}
	storage.RegisterClients(storage.NativeClient(client, callback))
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	p.rotate()
	p.read(t, http.DefaultClient, p.server.URL+"/.well-known/openid-configuration", nil, &p.about)
	return p
}

// rotate starts the provider anew with another key, and without the old one.
func (p *provider) rotate() {
	works := exampleop.SetupServer(p.server.URL+"/", storage.NewStorage(p.users), slog.New(slog.DiscardHandler), false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.works = works
}

// breakKeys has the address of the keys answer like this; nil mends it.
func (p *provider) breakKeys(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = answer
}

// goAway has the provider answer nothing at all.
func (p *provider) goAway() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
}

// ServeHTTP is the provider's.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	works, keys, away := p.works, p.keys, p.away
	p.mu.Unlock()
	if away {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Path == "/keys" {
		p.fetches.Add(1)
		if keys != nil {
			keys(w, r)
			return
		}
	}
	works.ServeHTTP(w, r)
}

// file writes a file of issuers with what the provider says of itself, and its users who are staff.
func (p *provider) file(t *testing.T) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"issuers": []any{map[string]any{
		"issuer": p.about.Issuer, "jwks": p.about.JWKS, "jwksNetworks": []string{"127.0.0.1"}, "audience": client,
		"tokens": "id", "algorithms": p.about.Algorithms,
		"staff": map[string]any{
			"claim": "sub", "admin": []string{"id-of-ada"}, "merchant": []string{"id-of-olga", "id-of-otto"},
			"shopClaim": "sub", "shops": map[string]int{"id-of-olga": 3, "id-of-otto": 4},
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "issuers.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// signIn signs a user in by authorization code with PKCE, and returns their ID token.
func (p *provider) signIn(t *testing.T, user string) string {
	t.Helper()
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	login := p.follow(t, browser, p.about.Authorize+"?"+url.Values{
		"client_id": {client}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid"},
		"state": {state}, "nonce": {rand.Text()}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}.Encode(), nil)
	back := p.follow(t, browser, login.String(), url.Values{
		"username": {user}, "password": {password}, "id": {login.Query().Get("authRequestID")},
	})
	got := p.follow(t, browser, back.String(), nil).Query()
	if got.Get("state") != state {
		t.Fatalf("the provider came back with %v", got)
	}
	var tokens struct {
		IDToken string `json:"id_token"`
	}
	p.read(t, browser, p.about.Token, url.Values{
		"grant_type": {"authorization_code"}, "code": {got.Get("code")}, "redirect_uri": {callback},
		"client_id": {client}, "code_verifier": {verifier},
	}, &tokens)
	return tokens.IDToken
}

// follow sends a form, or asks without one, and returns where the provider leads.
func (p *provider) follow(t *testing.T, browser *http.Client, to string, form url.Values) *url.URL {
	t.Helper()
	res := p.send(t, browser, to, form)
	_ = res.Body.Close() // of a redirect nothing is read
	next, err := res.Location()
	if err != nil {
		t.Fatalf("%s answers %s and leads nowhere: %v", to, res.Status, err)
	}
	return next
}

func (p *provider) read(t *testing.T, browser *http.Client, to string, form url.Values, into any) {
	t.Helper()
	res := p.send(t, browser, to, form)
	b, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it has been read
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s: %s %v", to, res.Status, b, err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func (p *provider) send(t *testing.T, browser *http.Client, to string, form url.Values) *http.Response {
	t.Helper()
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(t.Context(), method, to, body)
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

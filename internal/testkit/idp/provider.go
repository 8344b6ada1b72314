package idp

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Audience is what services are called at a provider.
const Audience = "seckill"

// Provider is a provider that signs ID tokens with Ed25519.
type Provider struct {
	server *httptest.Server

	mu      sync.Mutex
	key     Key // the current one
	number  int // its kid
	set     []byte
	broken  http.HandlerFunc
	fetches int
	login   login
}

// Start starts a provider, until the test ends.
func Start(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{}
	p.Rotate(tb)
	p.server = httptest.NewServer(p)
	tb.Cleanup(p.server.Close)
	return p
}

// ServeHTTP answers with the key set or, on its page and for its tokens, signs somebody in; or as the provider is
// broken.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/authorize":
		p.authorize(w, r)
		return
	case "/token":
		p.token(w, r)
		return
	}
	p.mu.Lock()
	p.fetches++
	broken, set := p.broken, p.set
	p.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	_, _ = w.Write(set) // who asks sees what is missing
}

// Rotate gives the provider a new key, and has it forget the old one.
func (p *Provider) Rotate(tb testing.TB) {
	tb.Helper()
	key := Keys(tb)["EdDSA"]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	p.key, p.set = key, Set(tb, map[string]Key{strconv.Itoa(p.number): key})
}

// Break has the provider answer like this; nil mends it.
func (p *Provider) Break(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = answer
}

// Fetches returns how often the keys were asked for.
func (p *Provider) Fetches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

// Issuer is the provider's name in its tokens.
func (p *Provider) Issuer() string { return p.server.URL }

// Token returns the ID token of somebody who signs in now, with claims changed.
func (p *Provider) Token(tb testing.TB, subject string, changed map[string]any) string {
	tb.Helper()
	token, err := p.sign(subject, changed)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func (p *Provider) sign(subject string, changed map[string]any) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	claims := map[string]any{
		"iss": p.Issuer(), "sub": subject, "aud": Audience, "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changed)
	return p.key.sign(map[string]any{"kid": strconv.Itoa(p.number)}, claims)
}

// File writes a file of issuers with the provider, whose entry has these members besides, and returns its path.
func (p *Provider) File(tb testing.TB, more map[string]any) string {
	tb.Helper()
	entry := map[string]any{
		"issuer": p.Issuer(), "jwks": p.Issuer() + "/keys", "jwksNetworks": []string{"127.0.0.1"}, "audience": Audience,
		"tokens": "id", "algorithms": []string{"EdDSA"},
	}
	maps.Copy(entry, more)
	b, err := json.Marshal(map[string]any{"issuers": []any{entry}})
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "issuers.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

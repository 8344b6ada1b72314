package idp

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Audience is the service's name at a provider: the aud of tokens, and the client id.
const Audience = "seckill"

// Provider is a provider that signs ID tokens with Ed25519.
type Provider struct {
	issuer string // its address

	serving *httptest.Server // replaced by Resume

	mu     sync.Mutex
	key    Key // the current one
	number int // its kid
	set    []byte
	broken http.HandlerFunc
	login  login
}

// Start starts a provider, until the test ends.
func Start(tb testing.TB) *Provider {
	tb.Helper()
	p := &Provider{}
	p.Rotate(tb)
	p.serving = httptest.NewServer(p)
	p.issuer = p.serving.URL
	tb.Cleanup(func() { p.serving.Close() })
	return p
}

// Stop refuses connections to the provider, until Resume. Neither may be called while another of the two runs.
func (p *Provider) Stop() { p.serving.Close() }

// Resume serves again, at the same address.
func (p *Provider) Resume(tb testing.TB) {
	tb.Helper()
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", strings.TrimPrefix(p.issuer, "http://"))
	if err != nil {
		tb.Fatal(err)
	}
	p.serving = &httptest.Server{Listener: l, Config: &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}}
	p.serving.Start()
}

// ServeHTTP serves the sign-in page and its tokens, and on every other path the key set, or the answer given to Break.
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
	broken, set := p.broken, p.set
	p.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	_, _ = w.Write(set) // the client notices if it fails
}

// Rotate replaces the provider's key by a new one.
func (p *Provider) Rotate(tb testing.TB) {
	tb.Helper()
	key := Keys(tb)["EdDSA"]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	p.key, p.set = key, Set(tb, map[string]Key{strconv.Itoa(p.number): key})
}

// Break makes the provider answer requests for keys with answer; nil mends it.
func (p *Provider) Break(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = answer
}

// Issuer is the provider's name in its tokens.
func (p *Provider) Issuer() string { return p.issuer }

// Token returns the ID token of a user who signs in now; changed replaces or adds claims.
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

// File writes a file of issuers and returns its path. The provider's entry also has the members in more.
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

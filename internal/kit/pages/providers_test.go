package pages

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// A page names its providers, and may talk to those from which it fetches tokens, and load pictures from their hosts. A
// page with a policy of its own may not.
func TestProviders(t *testing.T) {
	t.Parallel()
	page := &fstest.MapFile{Data: []byte(`<div data-providers="{{.ProvidersText}}"></div>`)}
	files := fstest.MapFS{"index.html": page, "docs.html": page}
	h, _ := open(t, files, Site{Providers: []Provider{
		{Issuer: "https://a", Label: `"><script>`, Token: "https://a.example/token?x=1", Client: "shop"},
		{Issuer: "https://b", Token: "https://b.example:8443/token"},
		{Issuer: "https://c", Token: "https://a.example/other"},
	}})
	r := ask(t, h, http.MethodGet, "/")
	body := text(t, r.Body)
	if !strings.Contains(html.UnescapeString(body), `"client":"shop"`) || strings.Contains(body, "<script>") {
		t.Errorf("the page is %s", body)
	}
	const want = "connect-src 'self' https://a.example https://b.example:8443;"
	if got := r.Header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
		t.Errorf("the policy is %s", got)
	}
	if got := ask(t, h, http.MethodGet, "/docs").Header.Get("Content-Security-Policy"); got != policies["docs.html"] {
		t.Errorf("that of the documents is %s", got)
	}
	h, _ = open(t, files, Site{PictureHosts: []string{"img.example", "cdn.example:8443"}})
	pictured := strings.Replace(policy, "img-src 'self' data:;",
		"img-src 'self' data: https://img.example https://cdn.example:8443;", 1)
	if got := ask(t, h, http.MethodGet, "/").Header.Get("Content-Security-Policy"); got != pictured {
		t.Errorf("the policy with pictures of others is %s", got)
	}
	h, _ = open(t, files, Site{})
	r = ask(t, h, http.MethodGet, "/")
	if body := text(t, r.Body); body != `<div data-providers="[]"></div>` {
		t.Errorf("without providers it is %s", body)
	}
	if got := r.Header.Get("Content-Security-Policy"); got != policy {
		t.Errorf("the policy without providers is %s", got)
	}
}

package issuers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What pages need of an issuer is two addresses; the rest has a meaning without being given.
func TestPages(t *testing.T) {
	t.Parallel()
	const both = `, "pages": {"authorize": "https://login.example/auth?p=1", "token": "https://api.example/token"`
	private := strings.Replace(good(`, "jwksNetworks": ["10.0.0.7"], "pages": {"authorize": "http://10.0.0.7/auth",
		"token": "http://10.0.0.7/token"}`), `"tokens": "id"`, `"tokens": "access"`, 1)
	for text, want := range map[string]Pages{
		good(""): {},
		good(both + `}`): {
			Authorize: "https://login.example/auth?p=1", Token: "https://api.example/token", Client: "shop",
			Scope: "openid", Label: "login.example",
		},
		good(both + `, "client": "web", "scope": "openid email", "label": "Mall"}`): {
			Authorize: "https://login.example/auth?p=1", Token: "https://api.example/token", Client: "web",
			Scope: "openid email", Label: "Mall",
		},
		strings.Replace(private, `/token"}`, `/token", "client": "web", "scope": "shop"}`, 1): {
			Authorize: "http://10.0.0.7/auth", Token: "http://10.0.0.7/token", Client: "web", Scope: "shop",
			Label: "10.0.0.7",
		},
	} {
		got, err := parse([]byte(text), "/")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got[0].Pages); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
	for _, tc := range [][2]string{
		{good(`, "pages": null`), `"pages"`},
		{good(`, "pages": {}`), `pages: "authorize" is missing`},
		{good(both + `, "secret": "s"}`), `"secret" is not known`},
		{good(both + `, "clientSecret": "s"}`), `"clientSecret" is not known`},
		{good(both + `, "client": ""}`), `pages: "client" is ""`},
		{good(both + `, "scope": "email"}`), `pages: "scope" is "email"`},
		{good(both + `, "label": "` + strings.Repeat("x", maxLabel+1) + `"}`), `pages: "label" has 61 bytes`},
		{strings.Replace(good(both+`}`), "https://api", "http://api", 1), `pages: "token" is "http://api`},
		{strings.Replace(good(both+`}`), "https://login.example/auth", "javascript:x", 1), `pages: "authorize" is`},
		{strings.Replace(good(both+`}`), "https://api", "https://u:p@api", 1), `pages: "token" is`},
		{strings.Replace(good(both+`}`), "https://api.example", "https://*.example", 1), `pages: "token" is`},
		{strings.Replace(good(both+`}`), "https://api.example", "https://a;script-src", 1), `pages: "token" is`},
		{strings.Replace(good(both+`}`), "/token", "/token#x", 1), `pages: "token" is`},
		{private, `pages: "client" is missing`},
	} {
		if got, err := parse([]byte(tc[0]), "/"); err == nil || !strings.Contains(err.Error(), tc[1]) || got != nil {
			t.Errorf("%s: %v; want %q", tc[0], err, tc[1])
		}
	}
}

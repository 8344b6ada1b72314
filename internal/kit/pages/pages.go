package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
)

// assets is the folder of the scripts, styles and pictures of pages.
const assets = "assets/"

// Values of Cache-Control.
const (
	revalidate = "no-cache"                            // browsers ask each time whether the file has changed
	immutable  = "public, max-age=31536000, immutable" // a year, the longest time in RFC 9111
)

// Site is the pages' data about their service. Their HTML uses it: {{.Assets}}/FILE, {{.Base}}, {{.Demo}},
// {{.NoProvider}}, {{.NoCodes}}, {{.NoTickets}}, {{.Currency}}, {{.Digits}}, {{.Name}}, {{.ProvidersText}}.
type Site struct {
	// Demo: the service creates demo buyers, at POST /demo/buyer.
	Demo bool
	// NoProvider: there is no payment provider, so orders with a price cannot be paid.
	NoProvider bool
	// NoCodes: no order has a code that a till redeems.
	NoCodes bool
	// NoTickets: there is no secret for signing tickets and challenges.
	NoTickets bool
	// Currency is the currency of all amounts, a code of ISO 4217.
	Currency string
	// Digits is how many decimals it has.
	Digits int
	// Providers are the identity providers for signing in; without any, users enter a token.
	Providers []Provider
	// PictureHosts are the hosts from which pages may load pictures, by https.
	PictureHosts []string
	// Name is the shop's name; empty: the product's.
	Name string
	// Colour is the shop's colour, as #rrggbb; empty: the accent colour of base.css.
	Colour string
	// Base is the path below which people find the service, without a trailing slash; "" for the root. Requests come
	// without it.
	Base string
	// Assets is the path of the assets, without a trailing slash. New sets it.
	Assets string
}

// Pages serves the files of web/. It is safe for concurrent use.
type Pages struct {
	files map[string]*file // by path
	// versioned is the path prefix of cacheable assets.
	versioned string
}

// New reads the files and renders the pages. It fails if a page is not a valid template.
func New(files fs.FS, site Site) (*Pages, error) {
	p := &Pages{files: map[string]*file{}}
	sources, err := p.readAll(files, site)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	site.Assets = site.Base + p.versioned
	for name, source := range sources {
		if err := p.render(name, source, site); err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
	}
	return p, nil
}

// readAll reads all files, and sets the version of the assets. It returns the templates of pages by name, because they
// are yet to be rendered.
func (p *Pages) readAll(files fs.FS, site Site) (sources map[string][]byte, err error) {
	sources = map[string][]byte{}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".html") {
			sources[name] = body
			return nil
		}
		if name == assets+"base.css" && site.Colour != "" {
			body = append(body, accents(site.Colour)...)
		}
		if (strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".css")) &&
			!strings.Contains(name, "/vendor/") { // vendors' comments have licences
			body = withoutComments(body)
		}
		if strings.HasPrefix(name, assets) {
			_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body) // writing to a hash never fails
		}
		p.files["/"+strings.TrimSuffix(name, ".gz")] = newFile(name, body)
		return nil
	})
	p.versioned = "/" + assets + hex.EncodeToString(sum.Sum(nil))[:16]
	return sources, err
}

// render adds a page, made from its template.
func (p *Pages) render(name string, source []byte, site Site) error {
	page, err := template.New(name).Funcs(template.FuncMap{"modules": p.modules}).Parse(string(source))
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := page.Execute(&body, site); err != nil {
		return err
	}
	path := "/" + strings.TrimSuffix(name, ".html")
	if path == "/index" {
		path = "/"
	}
	f := newFile(name, body.Bytes())
	if f.policy == policy { // pages in policies have no sign-in
		if f.policy, err = site.policyFor(policy); err != nil {
			return err
		}
	}
	p.files[path] = f
	return nil
}

// Before returns a handler that answers requests for files and passes all others on to the service. Methods other than
// GET and HEAD, such as purchases, are passed on without a lookup.
func (p *Pages) Before(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			if f, caching := p.find(r.URL.Path); f != nil {
				f.serve(w, r, http.StatusOK, caching)
				return
			}
		}
		service.ServeHTTP(w, r)
	})
}

// NotFound tells the person at a browser that there is no page at the address.
func (p *Pages) NotFound(w http.ResponseWriter, r *http.Request) {
	p.files["/not-found"].serve(w, r, http.StatusNotFound, "no-store")
}

// find returns the file at a path and its Cache-Control, or nil if there is none.
func (p *Pages) find(path string) (f *file, caching string) {
	if f := p.files[path]; f != nil {
		return f, revalidate
	}
	rest, isAsset := strings.CutPrefix(path, "/"+assets)
	if !isAsset {
		return nil, ""
	}
	_, name, _ := strings.Cut(rest, "/")
	f = p.files["/"+assets+name]
	if strings.HasPrefix(path, p.versioned+"/") {
		return f, immutable
	}
	return f, revalidate // the path has another version, or none
}

package pages

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"seckill/web"
)

// site is a small folder of pages.
func site() fstest.MapFS {
	return fstest.MapFS{
		"index.html":       {Data: []byte(`<script src="{{.Assets}}/a/b.js"></script>{{if .Demo}}demo{{end}}`)},
		"admin.html":       {Data: []byte(`<p>console</p>`)},
		"openapi.yaml":     {Data: []byte("openapi: 3.1.0\n")},
		"assets/a/b.js":    {Data: []byte(strings.Repeat("let it = 'be';\n", 50))},
		"assets/photo.png": {Data: []byte("\x89PNG")},
	}
}

// open returns the pages in front of a service that answers 404, and the versioned path of their assets.
func open(t *testing.T, files fstest.MapFS, s Site) (h http.Handler, versioned string) {
	t.Helper()
	p, err := New(files, s)
	if err != nil {
		t.Fatal(err)
	}
	return p.Before(http.NotFoundHandler()), p.versioned
}

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPaths(t *testing.T) {
	t.Parallel()
	h, versioned := open(t, site(), Site{})
	for _, c := range []struct {
		method, path string
		status       int
		media        string
		caching      string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8", revalidate},
		{"HEAD", "/", 200, "text/html; charset=utf-8", revalidate},
		{"GET", "/admin", 200, "text/html; charset=utf-8", revalidate},
		{"GET", "/openapi.yaml", 200, "application/yaml", revalidate},
		{"GET", versioned + "/a/b.js", 200, "text/javascript; charset=utf-8", immutable},
		{"GET", versioned + "/photo.png", 200, "image/png", immutable},
		{"GET", "/assets/a/b.js", 200, "text/javascript; charset=utf-8", revalidate},
		{"GET", "/assets/0123456789abcdef/a/b.js", 200, "text/javascript; charset=utf-8", revalidate},
		{"GET", versioned + "/none.js", 404, "", ""},
		{"GET", "/index.html", 404, "", ""},
		{"GET", "/assets/", 404, "", ""},
		{"GET", "/assets/../index.html", 404, "", ""},
		{"GET", "/voucher/1", 404, "", ""},
		{"POST", "/", 404, "", ""},
		{"POST", versioned + "/a/b.js", 404, "", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			r := ask(t, h, c.method, c.path)
			if r.StatusCode != c.status {
				t.Fatalf("status %d, want %d", r.StatusCode, c.status)
			}
			if c.status != http.StatusOK {
				return
			}
			if got := r.Header.Get("Content-Type"); got != c.media {
				t.Errorf("Content-Type %q, want %q", got, c.media)
			}
			if got := r.Header.Get("Cache-Control"); got != c.caching {
				t.Errorf("Cache-Control %q, want %q", got, c.caching)
			}
			if body := text(t, r.Body); (body == "") != (c.method == http.MethodHead) {
				t.Errorf("body %q", body)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Content-Security-Policy": policy,
			} {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestVersion checks that any change of the assets changes their path.
func TestVersion(t *testing.T) {
	t.Parallel()
	_, before := open(t, site(), Site{})
	for name, change := range map[string]func(fstest.MapFS){
		"other text": func(f fstest.MapFS) { f["assets/a/b.js"] = &fstest.MapFile{Data: []byte("let it = 1")} },
		"new file":   func(f fstest.MapFS) { f["assets/new.js"] = &fstest.MapFile{} },
		"renamed":    func(f fstest.MapFS) { f["assets/a/c.js"] = f["assets/a/b.js"]; delete(f, "assets/a/b.js") },
	} {
		files := site()
		change(files)
		if _, after := open(t, files, Site{}); after == before {
			t.Errorf("%s: still %s", name, after)
		}
	}
}

func TestPageKnowsItsSite(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		h, versioned := open(t, site(), Site{Demo: demo})
		body := text(t, ask(t, h, "GET", "/").Body)
		if !strings.Contains(body, `src="`+versioned+`/a/b.js"`) {
			t.Errorf("%s does not load from %s", body, versioned)
		}
		if strings.Contains(body, "demo") != demo {
			t.Errorf("demo buyers %v: %s", demo, body)
		}
	}
}

func TestCompressed(t *testing.T) {
	t.Parallel()
	h, versioned := open(t, site(), Site{})
	plain := text(t, ask(t, h, "GET", versioned+"/a/b.js").Body)
	for accept, compressed := range map[string]bool{
		"gzip, deflate, br": true, "GZIP": true, "br": false, "gzip;q=0": false, "": false,
	} {
		r := ask(t, h, "GET", versioned+"/a/b.js", "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != compressed {
			t.Errorf("Accept-Encoding %q: compressed is %v", accept, got)
			continue
		}
		if r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: a cache could give the answer to another caller", accept)
		}
		body := text(t, r.Body)
		if compressed {
			z, err := gzip.NewReader(bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			body = text(t, z)
		}
		if body != plain {
			t.Errorf("Accept-Encoding %q: other text", accept)
		}
	}
	if r := ask(t, h, "GET", versioned+"/photo.png", "Accept-Encoding",
		"gzip"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a picture is compressed twice")
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	h, _ := open(t, site(), Site{})
	tag := ask(t, h, "GET", "/").Header.Get("ETag")
	for known, status := range map[string]int{
		tag: 304, `"x", ` + tag: 304, strings.TrimPrefix(tag, "W/"): 304, `"x"`: 200, "": 200,
	} {
		r := ask(t, h, "GET", "/", "If-None-Match", known)
		if r.StatusCode != status {
			t.Errorf("If-None-Match %s: %d, want %d", known, r.StatusCode, status)
		}
		if r.Header.Get("Content-Security-Policy") == "" || r.Header.Get("Cache-Control") != revalidate {
			t.Errorf("If-None-Match %s: headers of the whole answer are missing", known)
		}
	}
}

func TestBrokenPage(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"syntax": "{{", "unknown": "{{.Nothing}}"} {
		if _, err := New(fstest.MapFS{"index.html": {Data: []byte(page)}}, Site{}); err == nil {
			t.Errorf("%s: a broken page is served", name)
		}
	}
}

// The page for an unknown address speaks both languages and leads to the shop.
func TestNotFound(t *testing.T) {
	t.Parallel()
	p, err := New(web.FS, Site{Name: "Corner shop"})
	if err != nil {
		t.Fatal(err)
	}
	r := ask(t, http.HandlerFunc(p.NotFound), http.MethodGet, "/nowhere")
	if got := r.Header.Get("Cache-Control"); r.StatusCode != http.StatusNotFound || got != "no-store" {
		t.Errorf("status %d, Cache-Control %q", r.StatusCode, got)
	}
	body := text(t, r.Body)
	for _, want := range []string{"There is no such page", "页面不存在", `href="/"`, "Corner shop"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	again := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/nowhere", nil)
	again.Header.Set("If-None-Match", r.Header.Get("ETag"))
	w := httptest.NewRecorder()
	p.NotFound(w, again)
	if w.Code != http.StatusNotFound || w.Body.Len() == 0 {
		t.Errorf("to a caller that has the page: status %d, %d bytes", w.Code, w.Body.Len())
	}
}

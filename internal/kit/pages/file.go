package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// policy is the default Content-Security-Policy.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// policies are the exceptions, by file. Scalar, which renders docs.html, creates styles at run time, one of them with
// an embedded font.
var policies = map[string]string{"docs.html": "default-src 'none'; script-src 'self'; " +
	"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}

// kinds maps file extensions to media types. The system's own table is not used, because its content varies. Text is
// compressed.
var kinds = map[string]struct {
	media string
	text  bool
}{
	".html": {"text/html; charset=utf-8", true},
	".css":  {"text/css; charset=utf-8", true},
	".js":   {"text/javascript; charset=utf-8", true},
	".svg":  {"image/svg+xml", true},
	".json": {"application/json", true},
	".yaml": {"application/yaml", true},
	".md":   {"text/plain; charset=utf-8", true},
	".txt":  {"text/plain; charset=utf-8", true},
	".png":  {"image/png", false},
}

// file is a file as it is served.
type file struct {
	body    func() []byte
	zipped  func() []byte // nil if not compressed
	media   string
	policy  string // Content-Security-Policy
	version string // entity tag; sent as weak, because the compressed form shares it
}

// newFile returns the file with the name. A name that ends in .gz means that the text is stored compressed.
func newFile(name string, stored []byte) *file {
	sum := sha256.Sum256(stored)
	name, isZipped := strings.CutSuffix(name, ".gz")
	kind := kinds[path.Ext(name)]
	f := &file{
		body: func() []byte { return stored }, media: kind.media, policy: policy,
		version: `"` + hex.EncodeToString(sum[:8]) + `"`,
	}
	if f.media == "" {
		f.media = "text/plain; charset=utf-8" // licences
	}
	if own, ok := policies[name]; ok {
		f.policy = own
	}
	switch {
	case isZipped:
		f.body, f.zipped = func() []byte { return unzip(stored) }, f.body
	case kind.text:
		f.zipped = sync.OnceValue(func() []byte { return zip(stored) })
	}
	return f
}

// zip compresses at the best level, because it is done once for many requests.
func zip(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // cannot fail: the level is valid
	_, _ = z.Write(body)                                  // cannot fail: writes to a buffer
	_ = z.Close()
	return b.Bytes()
}

// unzip undoes zip, for the rare caller that does not accept gzip.
func unzip(zipped []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil // cannot happen: TestWeight unzips every file
	}
	plain, _ := io.ReadAll(z)
	return plain
}

// serve answers with the status and the file, or with 304 if the caller's copy is current.
func (f *file) serve(w http.ResponseWriter, r *http.Request, status int, caching string) {
	h := w.Header()
	h.Set("Cache-Control", caching)
	h.Set("ETag", "W/"+f.version)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", f.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if f.zipped != nil {
		h.Set("Vary", "Accept-Encoding")
	}
	if status == http.StatusOK && strings.Contains(r.Header.Get("If-None-Match"), f.version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	read := f.body
	if f.zipped != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		read = f.zipped
	}
	body := read()
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // if it fails, the caller has gone
	}
}

// acceptsGzip reports whether the caller accepts gzip. Browsers list it without a weight; callers that send weights get
// uncompressed text, which everybody accepts.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.EqualFold(strings.TrimSpace(part), "gzip") {
			return true
		}
	}
	return false
}

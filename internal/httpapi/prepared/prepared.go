// Package prepared answers many callers with the same bytes, rendered and compressed once. It keeps only buffers;
// its callers say how old an answer is.
package prepared

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher/listing"
)

// compressFrom is the size in bytes from which a page is compressed: smaller ones fit into one packet.
const compressFrom = 1400

// joinUpTo is the largest answer that is copied into one write: up to it, copying costs less than a second write.
const joinUpTo = 64 << 10

// Body is an answer rendered once for all callers. Only its tail differs between answers: the time, and whether it is
// stale. Nobody changes it.
type Body struct {
	body []byte
	tag  string // an entity tag of the body without the tail: unquoted

	// compressed is the body as a gzip stream (RFC 1952) without its end: the deflate blocks end at a byte's border,
	// so that the tail follows as one stored block. Made when it is first asked for; nil for an answer that is too
	// short, or not kept.
	compressed func() *gzipped
}

// gzipped is the beginning of a gzip stream.
type gzipped struct {
	blocks []byte
	size   int    // bytes before compression
	crc    uint32 // CRC-32 of those bytes
}

// New returns the body of answers; kept says whether it is worth compressing.
func New(body []byte, kept bool) *Body {
	sum := sha256.Sum256(body)
	p := &Body{
		body: body, tag: base64.RawURLEncoding.EncodeToString(sum[:12]), compressed: func() *gzipped { return nil },
	}
	if kept && len(body) >= compressFrom {
		p.compressed = sync.OnceValue(func() *gzipped { return compress(body) })
	}
	return p
}

// gzipHeader is the header of a stream without name and time.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

// compress begins a gzip stream, at the fastest level, because the numbers of a busy sale change five times a second.
func compress(body []byte) *gzipped {
	var b bytes.Buffer
	b.WriteString(gzipHeader)
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil // cannot happen: the level is valid
	}
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Flush()        // as above
	return &gzipped{blocks: b.Bytes(), size: len(body), crc: crc32.ChecksumIEEE(body)}
}

// end returns the bytes after the blocks: the tail, at most 65,535 bytes, and the end of the stream.
func (g *gzipped) end(tail []byte) []byte {
	n := uint16(len(tail))
	b := append(make([]byte, 0, len(tail)+16), 1) // the header of the last block: a stored one
	b = binary.LittleEndian.AppendUint16(b, n)
	b = binary.LittleEndian.AppendUint16(b, ^n)
	b = append(b, tail...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Update(g.crc, crc32.IEEETable, tail))
	return binary.LittleEndian.AppendUint32(b, uint32(g.size+len(tail))) // RFC 1952: modulo 2^32
}

// Writer writes prepared answers. It is safe for concurrent use.
type Writer struct {
	joined  sync.Pool // of *[]byte, for answers that are joined into one write
	headers fixedHeaders
}

// fixedHeaders are header values that are the same in every answer, allocated once. Nobody changes them.
type fixedHeaders struct{ json, noCache, gzip []string }

// NewWriter returns a Writer.
func NewWriter() *Writer {
	return &Writer{headers: fixedHeaders{
		json: []string{"application/json"}, noCache: []string{"no-cache"}, gzip: []string{"gzip"},
	}}
}

// Shown is a prepared answer together with the snapshot that it shows.
type Shown struct {
	*Body

	Snapshot listing.Snapshot
	Tail     []byte
}

// Answer answers with a snapshot's prepared answer.
func (w *Writer) Answer(s *Shown) httpkit.Answer {
	return httpkit.Answer{Write: func(c *gin.Context) int { return w.write(c, s) }}
}

// write writes the answer, or 304 if the caller's copy is current.
func (w *Writer) write(c *gin.Context, s *Shown) (status int) {
	h := c.Writer.Header()
	tag := `W/"` + s.tag + `"` // weak: the time in the body differs, and so do encodings
	if s.Snapshot.Stale {
		// Anew each minute, so that a page that has the answer already learns how old it is.
		tag = `W/"` + s.tag + `-stale` + strconv.FormatInt(int64(s.Snapshot.NumbersAge/time.Minute), 10) + `"`
		h["Age"] = []string{strconv.FormatInt(int64(s.Snapshot.Age/time.Second), 10)}
	}
	h["Cache-Control"] = w.headers.noCache
	h["Etag"] = []string{tag}
	h["X-Server-Time"] = []string{strconv.FormatInt(s.Snapshot.Now.UnixMilli(), 10)}
	h["Vary"] = append(h["Vary"], "Accept-Encoding")
	if hasTag(c.Request.Header, tag) {
		c.Writer.WriteHeader(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return http.StatusNotModified
	}
	h["Content-Type"] = w.headers.json
	body, tail := s.body, s.Tail
	if takesGzip(c.Request.Header) {
		if g := s.compressed(); g != nil {
			h["Content-Encoding"] = w.headers.gzip
			body, tail = g.blocks, g.end(s.Tail)
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body) + len(tail))}
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method != http.MethodHead {
		w.writeBoth(c.Writer, body, tail)
	}
	return http.StatusOK
}

// writeBoth writes body and tail. It ignores a failed write.
func (w *Writer) writeBoth(to http.ResponseWriter, body, tail []byte) {
	if len(body)+len(tail) > joinUpTo {
		_, _ = to.Write(body)
		_, _ = to.Write(tail)
		return
	}
	joined, _ := w.joined.Get().(*[]byte)
	if joined == nil {
		joined = new([]byte)
	}
	*joined = append(append((*joined)[:0], body...), tail...)
	_, _ = to.Write(*joined)
	w.joined.Put(joined)
}

// hasTag reports whether the caller has the answer with the tag (If-None-Match, RFC 9110, section 13.1.2).
func hasTag(h http.Header, tag string) bool {
	given := h["If-None-Match"]
	if given == nil {
		return false
	}
	for one := range strings.SplitSeq(httpkit.JoinHeader(given), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag[len("W/"):] {
			return true
		}
	}
	return false
}

// takesGzip reports whether the caller lists gzip among the encodings that it accepts. "*" does not count.
func takesGzip(h http.Header) bool {
	given := h["Accept-Encoding"]
	if given == nil {
		return false
	}
	for one := range strings.SplitSeq(httpkit.JoinHeader(given), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, isWeight := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		return !isWeight || strings.Trim(q, "0.") != ""
	}
	return false
}

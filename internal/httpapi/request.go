package httpapi

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/trace"
)

const (
	// maxRequestID is how long a caller's request id may be.
	maxRequestID = 64
	// failureLogsPerSecond bounds the log lines about failing requests: when a store is away, tens of thousands of
	// requests per second may fail for the same reason. The metrics count them all.
	failureLogsPerSecond = 20
	// tracesPerSecond bounds the requests that are followed, whatever callers ask for.
	tracesPerSecond = 100
)

// requestID returns the id that the caller or a proxy gave the request, if it is harmless in logs and headers, else a
// new one.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && isHarmless(given[0]) {
		return given[0]
	}
	return newRequestID()
}

// newRequestID returns a random UUID, by which a request is found in the log. It is not a secret, so it does not read
// the kernel's random numbers, which would take longer than writing the rest of the answer's header.
func newRequestID() string {
	var id uuid.UUID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // no secret, see above
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // no secret, see above
	id[6] = id[6]&0x0f | 4<<4                            // RFC 9562, section 5.4: the version
	id[8] = id[8]&0x3f | 2<<6                            // and the variant
	return id.String()
}

// traceOf returns the traceparent of a request, "" if it has none.
func traceOf(r *http.Request) trace.Parent {
	given := r.Header["Traceparent"]
	if len(given) != 1 {
		return ""
	}
	return trace.Parse(given[0])
}

// follow has a request followed if its caller wants that: what is done for it knows its traceparent. It reports whether
// it did.
func (a *API) follow(c *gin.Context) bool {
	p := traceOf(c.Request)
	if !p.Sampled() || !a.traceLogs.Allow() {
		return false
	}
	c.Request = c.Request.WithContext(trace.With(c.Request.Context(), p))
	return true
}

func isHarmless(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// event is one request as it is logged and counted.
type event struct {
	id     string // request id
	route  string // pattern; "" when none matched
	user   int64  // 0: not known
	status int
	code   string
	err    error
	took   time.Duration

	followed bool   // API.follow
	made     string // the answer's Location; "" for none
}

// record counts the request and logs it: unexpected errors at error level, other answers from 500 up at warn level,
// requests that are followed at info level, all else (a refusal is business as usual) at debug level, which costs
// nothing when it is off.
func (a *API) record(c *gin.Context, e event) {
	if a.cfg.Observe != nil {
		a.cfg.Observe(c.Request.Method, e.route, e.status, e.code, e.took)
	}
	level := slog.LevelDebug
	switch {
	case e.code == codeInternal:
		level = slog.LevelError
	case e.status >= http.StatusInternalServerError && e.code != httpkit.CodePaused && e.route != readyzPath:
		level = slog.LevelWarn
	case e.followed:
		level = slog.LevelInfo
	}
	ctx := c.Request.Context()
	if !a.log.Enabled(ctx, level) || level > slog.LevelInfo && !a.failureLogs.Allow() {
		return
	}
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("request_id", e.id),
		slog.String("method", c.Request.Method),
		slog.String("route", e.route),
		slog.String("path", invalid.Clip(c.Request.URL.Path)),
		slog.Int("status", e.status),
		slog.String("code", e.code),
		slog.Duration("took", e.took),
		slog.String("client", a.cfg.Addresses.Of(c.Request).String()),
	)
	if p := traceOf(c.Request); p != "" {
		attrs = append(attrs, slog.String("trace_id", p.ID()))
	}
	if e.made != "" {
		attrs = append(attrs, slog.String("location", e.made))
	}
	if e.user != 0 {
		attrs = append(attrs, slog.Int64("user_id", e.user))
	}
	if e.err != nil {
		attrs = append(attrs, slog.String("error", e.err.Error()))
	}
	if p, ok := errors.AsType[*panicError](e.err); ok {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	a.log.LogAttrs(ctx, level, "request", attrs...)
}

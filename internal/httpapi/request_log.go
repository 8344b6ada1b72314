package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// alarmsPerSecond bounds the log lines about failing requests: when a store is away every one of tens of thousands of
// requests per second fails, for the same reason. The metrics count them all.
const alarmsPerSecond = 20

// event is one request as it is logged and counted.
type event struct {
	id     string // request id
	route  string // pattern; "" when none matched
	user   int64  // 0: not known
	status int
	code   string
	err    error
	took   time.Duration
}

// record counts the request and logs it: at error level what nobody expected, at warn level other answers from 500 up,
// all else (a refusal is business as usual) at debug level, which costs nothing when it is off.
func (a *API) record(c *gin.Context, e event) {
	if a.cfg.Observe != nil {
		a.cfg.Observe(c.Request.Method, e.route, e.status, e.code, e.took)
	}
	level := slog.LevelDebug
	switch {
	case e.code == codeInternal:
		level = slog.LevelError
	case e.status >= http.StatusInternalServerError && e.code != codePaused && e.route != readyzPath:
		level = slog.LevelWarn
	}
	ctx := c.Request.Context()
	if !a.log.Enabled(ctx, level) || level > slog.LevelDebug && !a.alarms.Allow() {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("request_id", e.id),
		slog.String("method", c.Request.Method),
		slog.String("route", e.route),
		slog.String("path", clipped(c.Request.URL.Path)),
		slog.Int("status", e.status),
		slog.String("code", e.code),
		slog.Duration("took", e.took),
		slog.String("client", c.ClientIP()),
	)
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

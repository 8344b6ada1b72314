package httpapi

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"time"

	"seckill/internal/httpapi/httpkit"
)

// Limits of a listener. Gin's own Run sets none of them.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second // header and body
	idleTimeout       = 75 * time.Second // longer than the 60 s for which nginx keeps idle connections
	maxHeaderBytes    = 16 << 10         // net/http adds 4 KiB of slack
	// answerTime is how long an answer may take beyond reading the request and the wait that it asks for.
	answerTime = 15 * time.Second
	// profileTime is how long a profile or trace may take on the operations listener.
	profileTime = 5 * time.Minute
)

// NewServer returns the server of the public address, with every timeout and limit set. A request may wait for up to
// maxWait. It is not started; shutting it down ends the streams.
func NewServer(
	addr string, h http.Handler, maxWait time.Duration, streams *httpkit.Streams, log *slog.Logger,
) *http.Server {
	s := newServer(addr, h, readTimeout+maxWait+answerTime, log)
	s.RegisterOnShutdown(streams.End) // Shutdown waits for handlers, and those of streams do not end by themselves
	return s
}

// OperationsServer returns the operations listener's server on an address. It is not started.
func (a *API) OperationsServer(addr string, metrics http.Handler) *http.Server {
	return newServer(addr, a.Operations(metrics), profileTime, a.log)
}

func newServer(addr string, h http.Handler, writeTimeout time.Duration, log *slog.Logger) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Operations returns the handler of the operations listener: metrics (the given handler), profiles, and health. Its
// only access control is onlyKnownHosts, so it belongs on an address that only operators can reach.
func (a *API) Operations(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET "+healthzPath, func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, http.StatusOK, a.headers.json[0], []byte(healthzBody))
	})
	mux.HandleFunc("GET "+readyzPath, func(w http.ResponseWriter, r *http.Request) {
		status, body, err := a.ready.answer(r.Context())
		if err != nil {
			a.log.ErrorContext(r.Context(), "readiness", "error", err)
			status, body = http.StatusInternalServerError, []byte(`{"status":"unready"}`)
		}
		reply(w, r, status, a.headers.json[0], body)
	})
	return a.onlyKnownHosts(mux)
}

// misdirected is the answer of the operations listener to a request for an unknown host name.
const misdirected = `{"type":"about:blank","title":"Misdirected request","status":421,` +
	`"detail":"This listener answers by its IP address, as localhost, and by the names in SECKILL_OPS_HOSTS."}`

// onlyKnownHosts refuses requests for an unknown host name. Otherwise a Web page whose name resolves to this machine
// could make a browser here read metrics and profiles (DNS rebinding). It allows IP addresses, which cannot be rebound,
// and requests without Host, which no browser sends.
func (a *API) onlyKnownHosts(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isKnownHost(r.Host, a.cfg.OperationsHosts) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header()["Content-Type"] = a.headers.problem
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = io.WriteString(w, misdirected) // a caller that has gone reads no answer
	})
}

// isKnownHost reports whether a Host header has an IP address, localhost, one of the names, or nothing.
func isKnownHost(header string, names []string) bool {
	host := header
	if name, _, err := net.SplitHostPort(header); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" ||
		strings.HasSuffix(host, ".localhost") {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool { return name == "*" || strings.EqualFold(name, host) })
}

// reply answers requests for health as the public listener does, on the other listeners.
func reply(w http.ResponseWriter, r *http.Request, status int, media string, body []byte) {
	h := w.Header()
	h.Set("X-Request-Id", requestID(r))
	h.Set("Content-Type", media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // nothing of the request; a prober that has gone reads no answer
}

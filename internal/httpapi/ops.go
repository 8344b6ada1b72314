package httpapi

import (
	"net/http"
	"net/http/pprof"
)

// Operations returns the handler of the operations listener: metrics (the given handler), profiles, and health. It has
// no access control of its own and belongs on an address that only operators reach.
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
		a.reply(w, r, http.StatusOK, []byte(healthzBody))
	})
	mux.HandleFunc("GET "+readyzPath, func(w http.ResponseWriter, r *http.Request) {
		status, body, err := a.ready.answer(r.Context())
		if err != nil {
			a.log.ErrorContext(r.Context(), "readiness", "error", err)
			status, body = http.StatusInternalServerError, []byte(`{"status":"unready"}`)
		}
		a.reply(w, r, status, body)
	})
	return mux
}

// reply answers as the public listener does: whoever asks for health may ask either.
func (a *API) reply(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h["X-Request-Id"] = []string{requestID(r)}
	h["Content-Type"] = a.headers.json
	h["X-Content-Type-Options"] = a.headers.nosniff
	h["Cache-Control"] = a.headers.noStore
	w.WriteHeader(status)
	_, _ = w.Write(body) // a prober that has gone needs no answer
}

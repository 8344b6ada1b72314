package httpapi

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// Starting returns the public handler for the time when the service waits for its stores: /healthz is alive, /readyz
// not ready, and all other requests get UNAVAILABLE.
func Starting() (http.Handler, error) {
	chosen, err := httpkit.NewLanguages()
	if err != nil {
		return nil, err
	}
	refusal := render(httpkit.Failure{
		Code: httpkit.CodeUnavailable, Status: http.StatusServiceUnavailable, Title: "Temporarily unavailable",
		Detail: "This instance starts, and waits for its stores. Nothing was done, and repeating the request is " +
			"harmless.",
		English: "The service is starting. Please try again shortly.", Chinese: "服务正在启动，请稍后重试。",
	})
	const asJSON = "application/json; charset=utf-8"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthzPath, func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, http.StatusOK, asJSON, []byte(healthzBody))
	})
	mux.HandleFunc("GET "+readyzPath, func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, http.StatusServiceUnavailable, asJSON, []byte(`{"status":"starting","checks":[]}`))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l := chosen.Choose(r.Header)
		w.Header().Set("Retry-After", "2")
		w.Header()["Content-Language"] = chosen.Name(l)
		reply(w, r, http.StatusServiceUnavailable, "application/problem+json",
			refusal.body(httpkit.ProblemDocument, l, nil))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // proxies then do not keep an instance that is not ready
		mux.ServeHTTP(w, r)
	}), nil
}

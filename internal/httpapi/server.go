package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// What a listener allows. Gin's own Run sets none of them.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second // header and body
	idleTimeout       = 75 * time.Second // longer than the 60 s for which nginx keeps idle connections
	maxHeaderBytes    = 16 << 10         // net/http adds 4 KiB of slack
	// answerTime is what an answer may take beyond reading the request and the wait that it asked for.
	answerTime = 15 * time.Second
	// profileTime is how long a profile or trace may take on the operations listener.
	profileTime = 5 * time.Minute
)

// Server returns the public listener's server on an address, with every timeout and limit set. It is not started.
func (a *API) Server(addr string) *http.Server {
	s := a.server(addr, a.Handler(), readTimeout+a.cfg.MaxWait+answerTime)
	s.RegisterOnShutdown(a.streams.end) // Shutdown waits for handlers, and theirs would not end by themselves
	return s
}

// OperationsServer returns the operations listener's server on an address. It is not started.
func (a *API) OperationsServer(addr string, metrics http.Handler) *http.Server {
	return a.server(addr, a.Operations(metrics), profileTime)
}

func (a *API) server(addr string, h http.Handler, writeTimeout time.Duration) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
}

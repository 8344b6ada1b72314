// Login is a stand-in for the part of the tutorial's backend that knows users: it signs people in by a telephone
// number and a code, and answers with a token that the coupon service takes. It keeps codes in memory, and writes
// them to its log instead of sending them: it is there to try the tutorial's pages out with, not to be deployed.
//
//	SECKILL_JWT_SECRET=… go run ./examples/tutorial/login -addr 127.0.0.1:8082
//
// See examples/tutorial/README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// minSecret is the service's own least length.
const minSecret = 32

func main() {
	addr := flag.String("addr", "127.0.0.1:8082", "`host:port` to listen on")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(),
			"Signs people in for the tutorial's pages. SECKILL_JWT_SECRET is the coupon service's.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(*addr, os.Getenv("SECKILL_JWT_SECRET")); err != nil {
		fmt.Fprintln(os.Stderr, "login:", err)
		os.Exit(1)
	}
}

func run(addr, secret string) error {
	if len(secret) < minSecret {
		return fmt.Errorf("SECKILL_JWT_SECRET has %d bytes, it needs %d or more, and has to be the coupon service's",
			len(secret), minSecret)
	}
	s := &http.Server{
		Addr: addr, Handler: newLogin([]byte(secret), slog.Default(), time.Now),
		ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute,
	}
	slog.Info("listening", "addr", addr)
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
)

// healthTimeout is how long the command health waits for the service's answer.
const healthTimeout = 3 * time.Second

const healthHelp = `server health asks the service at SECKILL_HTTP_ADDR on this machine whether it is
alive (/healthz), or with -ready whether it is ready (/readyz), and exits with 0
if it is and with 1 if not. It is the container image's health check.`

// health runs the command health.
func health(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("health", flag.ContinueOnError)
	ready := set.Bool("ready", false, "ask whether it is ready, not only alive")
	if err := cmdline.Parse(env.Env, set, healthHelp); err != nil {
		return err
	}
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	path := "/healthz"
	if *ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+reachable(cfg.HTTP.Addr)+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // reading needs no error on close
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", path, response.Status, body)
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", body)
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// quick tries what every change must keep: the single stack starts, a coupon is sold and paid, and it stops. The binary
// is built with this machine's Go and packed by the end of the Dockerfile; compiling in a container takes minutes.
func (e *engine) quick(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, e.sweep(context.WithoutCancel(ctx))) }()
	dir, err := e.clone(ctx, "quick", 0o022)
	if err != nil {
		return err
	}
	s := e.single(dir)
	if err := s.env(ctx, sandbox()...); err != nil {
		return err
	}
	if _, err := s.sh(ctx, "make up"); err != nil {
		return s.why(ctx, err)
	}
	if err := s.firstCoupon(ctx); err != nil {
		return s.why(ctx, err)
	}
	e.say("order %s is bought through the published port, and paid", s.order)
	return removed(ctx, s)
}

// pack makes a build context from which the image is built in a moment: the binary of make build, and the last stage of
// the Dockerfile.
func (e *engine) pack(ctx context.Context) error {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		return err
	}
	_, last, found := strings.Cut(string(text), "\nFROM scratch\n")
	if !found {
		return errors.New("the Dockerfile has no last stage FROM scratch")
	}
	e.packed = filepath.Join(e.run, "packed")
	if err := os.MkdirAll(filepath.Join(e.packed, "out", "etc"), 0o755); err != nil {
		return err
	}
	dockerfile := "FROM scratch AS build\nCOPY out /out\nFROM scratch\n" + last
	if err := os.WriteFile(filepath.Join(e.packed, "Dockerfile"), []byte(dockerfile), 0o600); err != nil {
		return err
	}
	out, err := e.command(ctx, "cp", "bin/server", filepath.Join(e.packed, "out", "server")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

package main

import (
	"context"
	"flag"
	"fmt"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/telemetry"
)

// printVersion runs the command version.
func printVersion(_ context.Context, env wiring.Env) error {
	if err := cmdline.Parse(env.Env, flag.NewFlagSet("version", flag.ContinueOnError),
		"server version prints the version, the source revision and the Go version."); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Out, "seckill %s, revision %s, %s\n", env.Build.Version, env.Build.Revision, env.Build.Go)
	return err
}

// built returns the version and the revision of this binary.
func built() telemetry.Build {
	b := telemetry.ReadBuild()
	if version != "dev" {
		b.Version = version
	}
	if revision != "" {
		b.Revision = revision
	}
	return b
}

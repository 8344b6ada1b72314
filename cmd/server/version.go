package main

import (
	"context"
	"flag"
	"fmt"

	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/telemetry"
)

// printVersion is the command version.
func printVersion(_ context.Context, env cmdline.Env) error {
	if err := cmdline.Parse(env, flag.NewFlagSet("version", flag.ContinueOnError),
		"server version prints the version, the source revision and the Go version."); err != nil {
		return err
	}
	b := build()
	_, err := fmt.Fprintf(env.Out, "seckill %s, revision %s, %s\n", b.Version, b.Revision, b.Go)
	return err
}

// build says what this binary was made of.
func build() telemetry.Build {
	b := telemetry.ReadBuild()
	if version != "dev" {
		b.Version = version
	}
	if revision != "" {
		b.Revision = revision
	}
	return b
}

// versionShown is the version that heartbeats tell: of a build without one, the revision of its source.
func versionShown() string {
	const untold, digits = "(devel)", 12 // of a revision, which has forty
	b := build()
	if b.Version != untold {
		return b.Version
	}
	return "devel-" + b.Revision[:min(digits, len(b.Revision))]
}

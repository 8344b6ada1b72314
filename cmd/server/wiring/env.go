package wiring

import (
	"log/slog"

	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
	"seckill/internal/telemetry"
)

// Env is a command's environment, and the version of this program.
type Env struct {
	cmdline.Env

	Build telemetry.Build
}

// NewLogger returns a logger that writes to Err; Out is for results.
func NewLogger(env Env, cfg config.Config) (*slog.Logger, error) {
	return telemetry.NewLogger(env.Err, telemetry.LogOptions{
		Level: cfg.Log.Level, Format: cfg.Log.Format, Instance: cfg.Server.Instance,
	})
}

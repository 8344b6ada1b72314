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

// Load returns the settings, and a logger that writes to Err; Out is for results.
func (e Env) Load() (config.Config, *slog.Logger, error) {
	cfg, err := config.Load(e.Environ)
	if err != nil {
		return config.Config{}, nil, err
	}
	log, err := telemetry.NewLogger(e.Err, telemetry.LogOptions{
		Level: cfg.Log.Level, Format: cfg.Log.Format, Instance: cfg.Server.Instance,
	})
	return cfg, log, err
}

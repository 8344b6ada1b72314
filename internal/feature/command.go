package feature

import (
	"context"
	"errors"

	"seckill/internal/kit/cmdline"
)

// Command is a command of the server, for operators.
type Command struct {
	Name, Summary string
	Run           func(ctx context.Context, env cmdline.Env, open Tools) error
}

// Tools open what a command works on, beside the running instances: the stores that the settings of env name, without
// jobs, and without touching the schema. They close it once do has returned.
type Tools struct {
	// Core opens the core. In the embedded mode it returns ErrEmbedded.
	Core func(ctx context.Context, env cmdline.Env, do func(Core) error) error
	// Ledger opens the database alone: of the core DB, Orders, Ledger, Settings, Version, Embedded and Log are set.
	Ledger func(ctx context.Context, env cmdline.Env, do func(Core) error) error
}

// ErrEmbedded says that a command needs Redis, and the embedded mode's is inside the process that serves.
var ErrEmbedded = errors.New(
	"neither SECKILL_REDIS_ADDRS nor SECKILL_MYSQL_DSN is set: set them as the instances have them; " +
		"for the embedded mode there is no such command, as its Redis is inside the process that serves")

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

// Tools open the stores named by env's settings for a command, also while instances are running. They start no jobs and
// do not change the schema. They close everything when do returns.
type Tools struct {
	// Core opens the core. In the embedded mode it returns ErrEmbedded.
	Core func(ctx context.Context, env cmdline.Env, do func(Core) error) error
	// Ledger opens only the database: of Core, it sets DB, Orders, Ledger, Settings, Version, Log,
	// SwitchOn and Front.Members.
	Ledger func(ctx context.Context, env cmdline.Env, do func(Core) error) error
	// Reachable opens those stores that answer, for a command that says which do not; away says why the database is not
	// open. Of Core, it sets Partitions, Redis, Settings, Version, Front.Members and Log, and if the database is open,
	// DB, Orders, Ledger and Sales.Balance. It returns ErrEmbedded as Core does, and an ErrSettings.
	Reachable func(ctx context.Context, env cmdline.Env, do func(core Core, away error) error) error
}

// ErrEmbedded means that a command needs Redis, but the embedded mode's Redis is inside the serving process.
var ErrEmbedded = errors.New(
	"neither SECKILL_REDIS_ADDRS nor SECKILL_MYSQL_DSN is set: set them as the instances have them; " +
		"this command does not work in the embedded mode, whose Redis is inside the serving process")

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"seckill/cmd/server/operate"
	"seckill/cmd/server/wiring"
	"seckill/internal/features"
	"seckill/internal/kit/cmdline"
)

// command is a subcommand of the program.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, env wiring.Env) error
}

func commands() []command {
	return slices.Concat([]command{
		{"serve", "sell coupons over HTTP (the default)", serve},
		{"migrate", "bring the schema of the SQL database up to date", operate.Migrate},
		{"reconcile", "compare Redis with the SQL database, sale by sale", operate.Reconcile},
	}, featureCommands(), []command{
		{"deadletter", "list, replay or discard stream entries that could not be decoded", operate.Deadletter},
		{"partition", "list, close, open or remove the partitions that sales are spread over", operate.Partition},
		{"payment", "try a payment provider over HTTP", operate.Payment},
		{"locks", "list who has the service's locks, or take one away", operate.Locks},
		{"token", "print a token for trying the service out", operate.Token},
		{"health", "ask a running service whether it is alive; for container health checks", health},
		{"version", "print the version", printVersion},
	})
}

// choose returns the command that the first argument names, with the environment for the remaining arguments. Without
// an argument, or if the first is a flag, it returns serve.
func choose(env wiring.Env) (command, wiring.Env, error) {
	all := commands()
	if len(env.Args) == 0 {
		return all[0], env, nil
	}
	name := env.Args[0]
	switch {
	case name == "help" && len(env.Args) > 1: // "help token" means "token --help"
		name, env.Args = env.Args[1], []string{"", "--help"}
	case name == "help", cmdline.IsHelp(name):
		usage(env.Out)
		return command{}, env, flag.ErrHelp
	case name == "--version":
		name = "version"
	case strings.HasPrefix(name, "-"):
		return all[0], env, nil
	}
	env.Args = env.Args[1:]
	for _, c := range all {
		if c.name == name {
			return c, env, nil
		}
	}
	_, _ = fmt.Fprintf(env.Err, "server: there is no command %q\n\n", name)
	usage(env.Err)
	return command{}, env, cmdline.ErrUsage
}

// featureCommands returns the features' commands for operators.
func featureCommands() (all []command) {
	for _, c := range features.List().Commands() {
		all = append(all, command{c.Name, c.Summary, func(ctx context.Context, env wiring.Env) error {
			return c.Run(ctx, env.Env, wiring.ToolsFor(env.Build))
		}})
	}
	return all
}

func usage(w io.Writer) {
	_, _ = fmt.Fprint(w, `The flash-sale coupon service.

  server [command] [flags]

`)
	for _, c := range commands() {
		_, _ = fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprint(w, `
Settings are environment variables: server serve --help lists them. Without any,
server runs in the embedded mode: everything in one process, data under ./data.
server <command> --help tells more about a command.
`)
}

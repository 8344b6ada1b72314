package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"seckill/internal/kit/cmdline"
)

// command is one thing that the program can do.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, env cmdline.Env) error
}

func commands() []command {
	return slices.Concat([]command{
		{"serve", "sell coupons over HTTP (the default)", serve},
		{"migrate", "bring the schema of the SQL database up to date", migrate},
		{"reconcile", "hold Redis and the SQL database against each other, sale by sale", reconcile},
	}, featureCommands(), []command{
		{"check", "go through what must be right before a sale: go or no-go", check},
		{"deadletter", "list, replay or discard accepted orders that could not be read", deadletter},
		{"partition", "list, close, open or remove the partitions that sales are spread over", partitionCommand},
		{"locks", "list who has the service's locks, or take one away", locks},
		{"couponkey", "add a key with which new codes of coupons are made", couponKey},
		{"token", "print a token for trying the service out", token},
		{"health", "ask a running service whether it is alive; for container health checks", health},
		{"version", "print the version", printVersion},
	})
}

// choose returns the command that the first argument names, with the environment behind that argument. Without one,
// or with a flag first, it is serve.
func choose(env cmdline.Env) (command, cmdline.Env, error) {
	all := commands()
	if len(env.Args) == 0 {
		return all[0], env, nil
	}
	name := env.Args[0]
	switch {
	case name == "help" && len(env.Args) > 1: // help token is token --help
		name, env.Args = env.Args[1], []string{"", "--help"}
	case name == "help", isHelp(name):
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

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

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

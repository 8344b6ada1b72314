package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"seckill/internal/testkit/child"
)

// benchmark is a measurement that go test runs, because it uses parts of the tests.
type benchmark struct {
	pkg  string // a package of the lab or of the service, seen from the lab
	name string
	time string // in the form of go test -benchtime
}

func (b benchmark) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet(b.name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 1, "how often")
	flags.StringVar(&b.time, "benchtime", b.time, "how much in a round, as go test takes it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+b.name+"$", "-benchtime", b.time,
		"-count", fmt.Sprint(*rounds), "-timeout", "1h")
	if !strings.HasPrefix(b.pkg, "./") { // in the service
		root, err := child.Root(ctx)
		if err != nil {
			return err
		}
		cmd.Dir = root
	}
	cmd.Args = append(append(cmd.Args, flags.Args()...), b.pkg)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.Run()
}

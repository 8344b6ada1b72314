package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/testkit/server"
)

// Exit codes of this program itself, as in shells; otherwise it exits with the command's code.
const (
	exitUsage      = 2
	exitFailed     = 125 // the servers could not be started or stopped
	exitNoCommand  = 127 // the command could not be run
	exitSignalBase = 128 // plus the signal that ended the command
)

// schemaWithin is the time limit for creating the service's schema.
const schemaWithin = 2 * time.Minute

const usage = `Runs a command with a Redis and a MariaDB at its side.

  go run ./test/services -- COMMAND [ARGUMENT ...]
  go run ./test/services                  keeps both running until Ctrl-C and prints
                                          lines for other shells: for tests, and
                                          for the service itself (make run)

The command finds them in its environment:

  %-26s host:port of the Redis
  %-26s DSN of the MariaDB (go-sql-driver); its user may create schemas

Other programs are chosen by

  %-26s a path, redis8 or valkey
  %-26s a path, mariadb11 or mysql9

where names mean programs unpacked from Debian unstable, once, into the user's cache.
If an address or a DSN is set already, that server is used and none is started for it.
redis-server and mariadbd are installed when they are missing, with apt-get as root;
elsewhere install redis 7 and mariadb 10.11 or later.

Examples

  go run ./test/services -- go test ./internal/...
  go run ./test/services -- go test -race -run TestRecorder ./internal/order
  SECKILL_TEST_REDIS_ADDR=127.0.0.1:6379 go run ./test/services -- make test-unit

The exit code is the command's: 128 + the signal if a signal ended it, 127 if it could not
be run, 125 if the servers could not be started.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run starts the services, runs the command and returns the exit code. It writes only to stderr, because stdout belongs
// to the command.
func run(args []string, stdout, stderr io.Writer) (code int) {
	flags := flag.NewFlagSet("services", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), usage, server.EnvRedisAddr, server.EnvMySQLDSN,
			server.EnvRedisProgram, server.EnvMySQLProgram)
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	// Registered before the servers start, so that every signal stops them.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	s := &services{log: stderr}
	defer func() {
		if err := s.close(); err != nil {
			fmt.Fprintln(stderr, "services:", err)
			code = max(code, exitFailed)
		}
	}()
	stopped, err := s.start(signals)
	switch {
	case stopped != nil:
		return exitSignal(stopped)
	case err != nil:
		fmt.Fprintln(stderr, "services:", err)
		return exitFailed
	case flags.NArg() == 0:
		service, err := s.serviceEnvironment()
		if err != nil {
			fmt.Fprintln(stderr, "services:", err)
			return exitFailed
		}
		printExports(stdout, "tests in another shell, such as go test ./internal/...", s.environment())
		printExports(stdout, "the service in another shell, such as make run", service)
		fmt.Fprintln(stderr, "services: running until Ctrl-C")
		<-signals
		return 0
	}
	return command(flags.Args(), s.environment(), signals, stdout, stderr)
}

// printExports prints lines to paste into a shell.
func printExports(out io.Writer, whom string, environment []string) {
	fmt.Fprintf(out, "# For %s:\n", whom)
	for _, v := range environment {
		fmt.Fprintf(out, "export '%s'\n", v)
	}
}

// services are the two servers: started here, or named by the environment.
type services struct {
	log       io.Writer
	redis     *server.Redis // nil if the environment names one
	redisAddr string
	mariadb   *server.MariaDB // nil if the environment names one
	mysqlDSN  string
}

// start starts both servers concurrently. A signal aborts the start and is returned.
func (s *services) start(signals <-chan os.Signal) (stopped os.Signal, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var result error
	done := make(chan struct{})
	go func() {
		defer close(done)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.startRedis(ctx) })
		group.Go(func() error { return s.startMariaDB(ctx) })
		result = group.Wait()
	}()
	select {
	case <-done:
		err = result
	case stopped = <-signals:
		cancel()
		<-done // it fails with the cancellation
		return stopped, nil
	}
	if err != nil {
		return nil, err
	}
	s.describe()
	return nil, nil
}

// describe prints one line for each server that the command gets.
func (s *services) describe() {
	if s.redis != nil {
		fmt.Fprintf(s.log, "services: %s %s on %s\n", s.redis.Name, s.redis.Version, s.redisAddr)
	} else {
		fmt.Fprintf(s.log, "services: using the redis on %s (%s)\n", s.redisAddr, server.EnvRedisAddr)
	}
	if s.mariadb != nil {
		fmt.Fprintf(s.log, "services: %s %s on %s\n", s.mariadb.Name, s.mariadb.Version, s.mariadb.Addr)
	} else {
		fmt.Fprintf(s.log, "services: using the MySQL that %s names\n", server.EnvMySQLDSN)
	}
}

func (s *services) startRedis(ctx context.Context) (err error) {
	if s.redisAddr = os.Getenv(server.EnvRedisAddr); s.redisAddr != "" {
		if err := server.PingRedis(ctx, s.redisAddr); err != nil {
			return fmt.Errorf("the Redis that %s names does not answer: %w", server.EnvRedisAddr, err)
		}
		return nil
	}
	if s.redis, err = server.StartRedis(ctx); err != nil {
		return err
	}
	s.redisAddr = s.redis.Addr
	return nil
}

func (s *services) startMariaDB(ctx context.Context) (err error) {
	if s.mysqlDSN = os.Getenv(server.EnvMySQLDSN); s.mysqlDSN != "" {
		if err := server.PingMySQL(ctx, s.mysqlDSN); err != nil {
			return fmt.Errorf("the MySQL that %s names does not answer: %w", server.EnvMySQLDSN, err)
		}
		return nil
	}
	if s.mariadb, err = server.StartMariaDB(ctx); err != nil {
		return err
	}
	s.mysqlDSN = s.mariadb.DSN("")
	return nil
}

// environment returns the variables with the servers' addresses.
func (s *services) environment() []string {
	return []string{server.EnvRedisAddr + "=" + s.redisAddr, server.EnvMySQLDSN + "=" + s.mysqlDSN}
}

// serviceEnvironment returns settings with which the service runs on these servers, with a schema that it creates if
// necessary, and a secret for this run.
func (s *services) serviceEnvironment() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), schemaWithin)
	defer cancel()
	dsn, err := server.CreateSchema(ctx, s.mysqlDSN, "seckill")
	if err != nil {
		return nil, fmt.Errorf("creating the schema seckill: %w", err)
	}
	return []string{"SECKILL_REDIS_ADDRS=" + s.redisAddr, "SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" +
		rand.Text() + rand.Text()}, nil
}

// close stops the servers that were started here.
func (s *services) close() error {
	var errs []error
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	if s.mariadb != nil {
		errs = append(errs, s.mariadb.Close())
	}
	return errors.Join(errs...)
}

// command runs the command and returns its exit code. The command has its own process group, to which signals are
// forwarded, so Ctrl-C reaches each of its processes once, as without this program.
func command(args, environment []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(stderr, "services:", err)
		return exitNoCommand
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // ProcessState tells more than the error
	}()
	for {
		select {
		case sig := <-signals:
			if s, ok := sig.(syscall.Signal); ok {
				_ = syscall.Kill(-cmd.Process.Pid, s) // fails only if the group has just ended
			}
		case <-done:
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if ok && status.Signaled() {
				return exitSignal(status.Signal())
			}
			return cmd.ProcessState.ExitCode()
		}
	}
}

// exitSignal returns the exit code for the signal that ended a program.
func exitSignal(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return exitSignalBase + int(s)
	}
	return exitFailed
}

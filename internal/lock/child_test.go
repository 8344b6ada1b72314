package lock_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// childEnv makes the test program a process that does what the JSON in it says, so that it can be killed or stopped.
const childEnv = "LOCK_TEST_CHILD"

// childLease is that process's lease, which it renews.
const childLease = time.Second

// childTask is what a child does: it takes the lock "m", says "held", and then "hold" waits to be killed, and "write"
// reads a line and then does the fenced write. One that is to "wait" says nothing: so
// many waiters wait, to be killed.
type childTask struct {
	Do, Kind, Addr, Prefix, DSN string
	Waiters                     int
}

// runChild returns the exit code.
func runChild(text string) int {
	if err := doTask(text, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func doTask(text string, in io.Reader, out io.Writer) error {
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: task.Addr})
	l := kindOf(task.Kind).open(
		lock.New(client, task.Prefix), "m", lock.NewOwner(), lock.WithRenewedLease(childLease),
	)
	if task.Do == "wait" {
		for range task.Waiters {
			go func() { _, _ = l.Lock(ctx) }() // to be killed
		}
		select {}
	}
	h, err := l.TryLock(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "held"); err != nil {
		return err
	}
	if task.Do == "hold" {
		<-h.Lost()
		return h.Err()
	}
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	db, err := sql.Open("mysql", task.DSN)
	if err != nil {
		return err
	}
	n, err := fencedWrite(ctx, db, h.Token(), "child")
	if err != nil {
		return err
	}
	<-h.Lost()
	if !errors.Is(h.Err(), lock.ErrLost) {
		return h.Err()
	}
	_, err = fmt.Fprintf(out, "wrote %d rows; %v\n", n, lock.ErrLost)
	return err
}

// fencedWrite writes unless somebody with a higher token has, and returns how many rows it changed.
func fencedWrite(ctx context.Context, db *sql.DB, token int64, value string) (int64, error) {
	const statement = "UPDATE fenced SET value = ?, token = ? WHERE id = 1 AND token <= ?"
	result, err := db.ExecContext(ctx, statement, value, token, token)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// child is a running one.
type child struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startChild(t *testing.T, task childTask) *child {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		_ = c.cmd.Wait()
	})
	return c
}

// says fails unless the next line begins with the text.
func (c *child) says(t *testing.T, text string) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, text) {
		t.Fatalf("the child says %q, %v; want %q", line, err, text)
	}
}

func (c *child) kill(t *testing.T) { c.signal(t, syscall.SIGKILL) }

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

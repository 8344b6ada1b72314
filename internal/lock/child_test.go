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
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// childEnv turns the test program into a child process that carries out the JSON task in it, so that it can be killed
// or stopped.
const childEnv = "LOCK_TEST_CHILD"

// childLease is the lease of a child of the torture test, which renews it; the others' is three times as long.
const childLease = time.Second

// childTask is what a child does. "hold" takes the lock "m", says "held" and waits to be killed; "write" says "held",
// reads a line and then does the fenced write; "freeze" says "held" and polls the hold without pause, to be stopped;
// "wait" starts that many waiters, says nothing, and waits to be killed.
type childTask struct {
	Do, Kind, Addr, Prefix, DSN string
	Waiters                     int
	Deaf                        bool          // its publish/subscribe connections go deaf now and then
	Lease                       time.Duration // fixed, not renewed; 0: a short one, renewed
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
	switch task.Do {
	case "parent":
		return haveChild(task, out)
	case "torture":
		return torment(ctx, task, out)
	}
	client := redis.NewClient(&redis.Options{Addr: task.Addr})
	lease := lock.WithRenewedLease(3 * childLease) // a busy machine may stop a process for a second
	if task.Lease > 0 {
		lease = lock.WithLease(task.Lease)
	}
	l := kindOf(task.Kind).open(newLocker(client, task.Prefix), "m", lock.NewOwner(), lease)
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
	switch task.Do {
	case "hold":
		<-h.Lost()
		return h.Err()
	case "freeze":
		return freeze(ctx, h, out)
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

// haveChild has a child take the lock and wait to be killed.
func haveChild(task childTask, out io.Writer) error {
	task.Do = "hold"
	text, err := json.Marshal(task)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.SysProcAttr = dieWithParent()
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "child holds"); err != nil {
		return err
	}
	return cmd.Wait()
}

// freeze polls a hold until it is lost, and checks that the loss is noticed consistently: it fails if the hold or its
// context counts as held after its time, or as lost before the channel and the context have ended.
func freeze(parent context.Context, h aHold, out io.Writer) error {
	runtime.GOMAXPROCS(1) // so that it polls before a timer's function can run
	ctx, cancel := h.Context(parent)
	defer cancel()
	for i := 0; ; i++ {
		until, now, look := h.ValidUntil(), time.Now(), h.Err
		if i%2 == 1 {
			look = ctx.Err
		}
		err := look()
		if err == nil && now.After(until) {
			return fmt.Errorf("held %v after its end", now.Sub(until))
		}
		if i == 100 {
			if _, err := fmt.Fprintln(out, "looks"); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		select {
		case <-h.Lost():
		default:
			return errors.New("lost, but Lost is open")
		}
		select {
		case <-ctx.Done():
		default:
			return errors.New("lost, but the context is not done")
		}
		_, err = fmt.Fprintln(out, "lost in time")
		return err
	}
}

// fencedWrite writes unless a holder with a higher token has written, and returns the number of changed rows.
func fencedWrite(ctx context.Context, db *sql.DB, token int64, value string) (int64, error) {
	const statement = "UPDATE fenced SET value = ?, token = ? WHERE id = 1 AND token <= ?"
	result, err := db.ExecContext(ctx, statement, value, token, token)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// child is a running child process.
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
	c.cmd.SysProcAttr = dieWithParent()
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
		_ = c.cmd.Process.Kill() // it may have ended already
		_ = c.cmd.Wait()
	})
	return c
}

// says fails unless the child's next line begins with the text.
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

// stop stops the child and waits until all its threads have stopped: on a busy machine one may run on for a while.
func (c *child) stop(t *testing.T) {
	t.Helper()
	c.signal(t, syscall.SIGSTOP)
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	}
	if err != nil || !status.Stopped() {
		t.Fatalf("the child did not stop: %v, %v", status, err)
	}
}

package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"seckill/internal/testkit"
	"seckill/internal/testkit/server"
)

// GoBy lets the server use the clock from its next start on.
func (s *Server) GoBy(tb testing.TB, c *testkit.Clock) {
	tb.Helper()
	path, err := clockBinary()
	if err != nil {
		tb.Fatal(err)
	}
	s.Binary, s.Settings[server.ClockEnv] = path, c.File
}

// clockBinary builds the server with a standard library whose time.Now can be set: a Go program asks the kernel
// directly for the time, so that it cannot be intercepted from outside.
//
//nolint:gochecknoglobals // testing passes nothing from TestMain to tests
var clockBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "seckill-clock-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // after the build has read it
	list, err := clockOverlay(dir)
	if err != nil {
		return "", fmt.Errorf("a server whose clock can be set: %w", err)
	}
	return buildServer("server-clock", "-pgo=off", "-overlay", list) // a profile would rebuild everything
})

// The functions behind time.Now, in the standard library and here.
const (
	nowCalls   = "sec, nsec, mono := runtimeNow()"
	nowCallsUs = "sec, nsec, mono := settableNow()"
)

// settableNow is an additional file of package time.
const settableNow = `package time

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var clockOffset = sync.OnceValue(func() *int64 {
	name, ok := syscall.Getenv("` + server.ClockEnv + `")
	if !ok {
		return new(int64)
	}
	file, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	page, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	syscall.Close(file)
	return (*int64)(unsafe.Pointer(&page[0]))
})

func settableNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	ns := sec*1e9 + int64(nsec) + atomic.LoadInt64(clockOffset())
	return ns / 1e9, int32(ns % 1e9), mono
}
`

// clockOverlay writes the changed files of package time into dir, and returns the overlay file for the build.
func clockOverlay(dir string) (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("finding the standard library: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	if bytes.Count(text, []byte(nowCalls)) != 1 {
		return "", fmt.Errorf("time.Now of %s does not say %q once", source, nowCalls)
	}
	changed, added, list := filepath.Join(dir, "time.go"), filepath.Join(dir, "settable.go"),
		filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(source, "time.go"): changed, filepath.Join(source, "settable.go"): added,
	}})
	return list, errors.Join(err,
		os.WriteFile(changed, bytes.Replace(text, []byte(nowCalls), []byte(nowCallsUs), 1), 0o600),
		os.WriteFile(added, []byte(settableNow), 0o600), os.WriteFile(list, overlay, 0o600))
}

package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Home is a data directory locked by this process, with its in-process Redis. Its methods are safe for concurrent use.
type Home struct {
	// Addr is the loopback address of the in-process Redis, and Password the password of its default user. Only
	// database 0 is used.
	Addr     string
	Password string
	// SQLitePath is the file for the orders. It exists, and is empty at the first start.
	SQLitePath string
	// Fresh: the first start on this directory is not complete. Create the things that are created only once, such as a
	// demonstration sale, and then call MarkSettled.
	Fresh bool

	dir    string
	log    *slog.Logger
	lock   *dirLock
	redis  *miniredis.Miniredis
	closed sync.Once
	secret sync.Mutex // one call makes the secret, the others read it
}

// Open locks a data directory, creating it if necessary, and starts the in-process Redis, which runs until Close. The
// caller runs [Home.Run] concurrently. If another process has the directory, the error wraps ErrInUse.
func Open(dir string, log *slog.Logger) (_ *Home, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := makeDir(dir, log); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.release())
		}
	}()
	h := &Home{dir: dir, log: log, lock: lock, SQLitePath: filepath.Join(dir, databaseName), Password: rand.Text()}
	if h.Fresh, err = isFresh(dir); err != nil {
		return nil, err
	}
	if err := makePrivate(h.SQLitePath); err != nil {
		return nil, err
	}
	h.redis = miniredis.NewMiniRedis()
	h.redis.RequireAuth(h.Password) // before it listens, so that a password is always required
	if err := h.redis.Start(); err != nil {
		return nil, fmt.Errorf("start the in-process Redis: %w", err)
	}
	h.Addr = h.redis.Addr()
	return h, nil
}

// ErrNoDatabase means that no service has been started on the directory yet.
var ErrNoDatabase = errors.New("no database in the data directory")

// OpenExisting is Open for tools: it creates nothing. Without a database, the error wraps ErrNoDatabase.
func OpenExisting(dir string, log *slog.Logger) (*Home, error) {
	_, err := os.Stat(filepath.Join(dir, databaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w %s", ErrNoDatabase, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return Open(dir, log)
}

// Close stops the in-process Redis and unlocks the directory. Close all users of either one first. Further calls do
// nothing.
func (h *Home) Close() error {
	var err error
	h.closed.Do(func() {
		h.redis.Close()
		err = h.lock.release()
	})
	return err
}

// MarkSettled records that the first start is complete: Fresh will be false at the next one. It is safe to repeat. If a
// process dies before calling it, Fresh stays true, so whatever is created once must be safe to create again.
func (h *Home) MarkSettled() error {
	if err := writeFile(h.dir, settledName, nil); err != nil {
		return fmt.Errorf("mark the data directory as settled: %w", err)
	}
	return nil
}

const (
	databaseName = "seckill.db"
	settledName  = "settled"
)

func isFresh(dir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(dir, settledName))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("data directory: %w", err)
	}
	return false, nil
}

// makeDir creates the directory, accessible to its owner only. An existing directory keeps its mode, because it may be
// shared (the current directory, /tmp); the files in it are private by themselves.
func makeDir(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		log.Warn("other users can write to the data directory and replace its files", "dir", dir,
			"mode", info.Mode().Perm())
	}
	return nil
}

// makePrivate creates an empty file that only its owner may read, if there is none. SQLite itself would create a
// readable one. It treats an empty file as a new database, and gives its other files the same mode.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("make the database file: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make the database file: %w", err)
	}
	return nil
}

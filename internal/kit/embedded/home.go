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

// Home is a data directory that this process has locked, with its in-process Redis. Its methods may be called by
// several goroutines.
type Home struct {
	// Addr is the address of the in-process Redis, on the loopback, and Password its password. Its user is the
	// default one, its only database in use is 0.
	Addr     string
	Password string
	// SQLitePath is the file for the orders. It exists, and is empty at first.
	SQLitePath string
	// Fresh: no start on this directory has been completed yet. What is created once, such as a demonstration sale,
	// is to be created now, followed by MarkSettled.
	Fresh bool

	dir    string
	log    *slog.Logger
	lock   *dirLock
	redis  *miniredis.Miniredis
	closed sync.Once
	secret sync.Mutex // one call makes the secret, the others read it
}

// Open locks a data directory, which it creates if need be, and starts the in-process Redis, which listens until
// Close. The caller runs [Home.Run] beside it. Open returns an error that wraps ErrInUse when another process has the
// directory.
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
	h.redis.RequireAuth(h.Password) // before it listens, so that there is never access without
	if err := h.redis.Start(); err != nil {
		return nil, fmt.Errorf("start the in-process Redis: %w", err)
	}
	h.Addr = h.redis.Addr()
	return h, nil
}

// ErrNoDatabase means that no service has been started on the directory yet.
var ErrNoDatabase = errors.New("no database in the data directory")

// OpenExisting is Open for tools: it makes nothing, and returns an error that wraps ErrNoDatabase where there is no
// database.
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

// Close stops the in-process Redis, ending its connections, and unlocks the directory. What uses either has to be
// closed before. Further calls do nothing.
func (h *Home) Close() error {
	var err error
	h.closed.Do(func() {
		h.redis.Close()
		err = h.lock.release()
	})
	return err
}

// MarkSettled records that the first start is complete: from the next one on, Fresh is false. It is safe to repeat. A
// process that dies before it leaves Fresh true, so what is created once must be safe to repeat.
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

// makeDir makes the directory for its owner only. An existing one keeps its mode, because it may be a shared one (the
// current directory, /tmp): the files in it are private by themselves.
func makeDir(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		log.Warn("other users can write to the data directory, and so replace what is in it", "dir", dir,
			"mode", info.Mode().Perm())
	}
	return nil
}

// makePrivate makes an empty file that only its owner may read, if there is none. SQLite would make one that others may
// read, takes an empty file for a new database, and gives the files beside it the same mode.
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

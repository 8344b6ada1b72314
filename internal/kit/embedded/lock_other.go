//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import (
	"errors"
	"os"
)

// tryLock always fails: without a lock, two processes could sell from one directory.
func tryLock(*os.File) error {
	return errors.New("this system has no flock; the embedded mode is not available here, set SECKILL_REDIS_ADDRS " +
		"and SECKILL_MYSQL_DSN")
}

func unlock(*os.File) error { return nil }

package lock_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		os.Exit(runChild(task))
	}
	flag.Parse()
	// Most rows only wait for leases to end: more of them at once than -parallel says, unless it wants one by one.
	if n, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String()); err == nil && n > 1 {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, 12))) // cannot fail
	}
	testkit.Main(m)
}

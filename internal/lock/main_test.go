package lock_test

import (
	"flag"
	"os"
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		os.Exit(runChild(task))
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = flag.Set("test.parallel", "12") // cannot fail; most rows only wait for leases to end
	}
	testkit.Main(m)
}

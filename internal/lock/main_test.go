package lock_test

import (
	"os"
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		os.Exit(runChild(task))
	}
	testkit.Main(m)
}

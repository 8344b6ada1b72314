package embedded

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	"seckill/internal/testkit"
)

// holdEnv makes this test binary, run as a child, lock its working directory until it is killed.
const holdEnv = "SECKILL_TEST_EMBEDDED_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		hold()
		return
	}
	testkit.Main(m)
}

// hold locks the working directory, reports that on standard output, and keeps the lock until standard input ends.
func hold() {
	if _, err := Open(".", slog.New(slog.DiscardHandler)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test, so that no process is left behind
	os.Exit(0)
}

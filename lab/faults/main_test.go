package faults

import (
	"os"
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	if code, asked := attackIfAsked(); asked {
		os.Exit(code)
	}
	testkit.Main(m)
}

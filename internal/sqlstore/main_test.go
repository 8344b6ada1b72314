package sqlstore_test

import (
	"os"
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) {
	if code, asked := migrateIfAsked(); asked {
		os.Exit(code)
	}
	testkit.Main(m)
}

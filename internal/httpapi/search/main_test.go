package search_test

import (
	"testing"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

package config

import (
	"testing"
	_ "time/tzdata" // zones are found on machines without a database of them too; the server brings its own as well

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

package config

import (
	"testing"
	_ "time/tzdata" // for machines without a zone database; the server embeds it, too

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

package redisstore

import (
	"regexp"
	"strconv"
	"testing"

	"seckill/internal/order/recovery"
	"seckill/scripts"
)

// MAX_LEAD, whose package the scripts do not import, has the same value in Lua and in Go.
func TestScriptsHaveTheLeadOfGo(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`(?m)^local MAX_LEAD = ([\de]+)$`).FindStringSubmatch(scripts.Source("sale"))
	if number == nil {
		t.Fatal("sale.lua has no MAX_LEAD")
	}
	if got, err := strconv.ParseFloat(number[1], 64); err != nil || got != recovery.MaxEpochLead {
		t.Errorf("MAX_LEAD of sale.lua is %s, want %g", number[1], float64(recovery.MaxEpochLead))
	}
}

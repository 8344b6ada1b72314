package redisstore

import (
	"regexp"
	"strconv"
	"testing"

	"seckill/internal/order/gate"
	"seckill/internal/order/operation"
	"seckill/internal/order/recovery"
	"seckill/internal/voucher"
	"seckill/scripts"
)

// A limit that both Lua and Go enforce has the same value in both.
func TestScriptsHaveTheLimitsOfGo(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct {
		script, name string
		want         int
	}{
		{"seckill", "MAX_REQUESTS", gate.MaxBatch},
		{"seckill", "MAX_SALES", gate.MaxSales},
		{"seckill", "MAX_PACKED", maxPacked},
		{"seckill", "MAX_QUANTITY", voucher.MaxPerUser},
		{"apply", "MAX_OPERATIONS", operation.MaxBatch},
		{"correct", "MAX_CORRECTIONS", maxCorrections},
		{"acknowledge", "MAX_ENTRIES", maxKeys},
		{"sale", "MAX_LEAD", recovery.MaxEpochLead},
	} {
		number := regexp.MustCompile(`(?m)^local ` + limit.name +
			` = ([\de_]+)(?: --|$)`).FindStringSubmatch(scripts.Source(limit.script))
		if number == nil {
			t.Errorf("%s.lua has no %s", limit.script, limit.name)
			continue
		}
		if got, err := strconv.ParseFloat(number[1], 64); err != nil || got != float64(limit.want) {
			t.Errorf("%s of %s.lua is %s, want %d", limit.name, limit.script, number[1], limit.want)
		}
	}
}

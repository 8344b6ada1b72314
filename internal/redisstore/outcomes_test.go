package redisstore

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order/gate"
	"seckill/scripts"
)

// The codes of scripts/seckill.lua are the outcomes of internal/order/gate/outcome.go, by number and name, and the
// script uses each.
func TestScriptCodesAreOutcomes(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(scripts.Source("seckill"), "-- The codes, in the order in which they are decided.")
	section, code, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatal("scripts/seckill.lua has no section of codes")
	}
	declared, outcomes := map[int]string{}, map[int]string{}
	for _, match := range regexp.MustCompile(`(?m)^(local|--) ([A-Z_]+) = (\d+)\b`).FindAllStringSubmatch(section, -1) {
		n, err := strconv.Atoi(match[3])
		if err != nil {
			t.Fatal(err)
		}
		if declared[n] != "" {
			t.Errorf("scripts/seckill.lua has two codes %d: %s and %s", n, declared[n], match[2])
		}
		declared[n] = match[2]
		if match[1] == "local" && !regexp.MustCompile(`\b`+match[2]+`\b`).MatchString(code) {
			t.Errorf("scripts/seckill.lua never answers %s", match[2])
		}
	}
	for _, o := range gate.Outcomes() {
		if o >= 0 {
			outcomes[int(o)] = strings.ToUpper(o.String())
		}
	}
	if diff := cmp.Diff(declared, outcomes); diff != "" {
		t.Errorf("codes of scripts/seckill.lua (-) and rows of outcomeRows in internal/order/gate (+):\n%s", diff)
	}
}

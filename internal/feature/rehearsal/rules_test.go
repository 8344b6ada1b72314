package rehearsal

import (
	"slices"
	"testing"

	"seckill/internal/httpapi/httpkit"
)

// Every refusal of rehearsals has a rule with its code.
func TestRules(t *testing.T) {
	t.Parallel()
	for want, errs := range map[string][]error{
		"NOT_FOUND":      {ErrNone},
		"REHEARSAL_OVER": {ErrOver},
		"SALE_NEAR":      {&NearSaleError{}},
		"REHEARSAL_RUNS": {errStarting, &RunningError{}},
	} {
		for _, err := range errs {
			rules := Rules()
			i := slices.IndexFunc(rules, func(r httpkit.Rule) bool { return r.Matches(err) })
			if i < 0 || rules[i].Failure.Code != want {
				t.Errorf("%v: rule %d, want that of %s", err, i, want)
			}
		}
	}
}

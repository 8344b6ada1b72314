package sqlstore

import (
	"testing"
	"time"
)

func TestTermsCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newTermsCache(time.Now, "CNY")
	for i := range int64(2*maxTerms + 1) {
		c.learn([]voucherRow{{ID: i, PayValue: i}})
	}
	if len(c.entries) > maxTerms {
		t.Errorf("the terms of %d vouchers are remembered, want %d at most", len(c.entries), maxTerms)
	}
	if terms, missing := c.known([]int64{2 * maxTerms, -1}); terms[2*maxTerms].Cents != 2*maxTerms ||
		len(missing) != 1 {
		t.Errorf("known = %v, missing %v", terms, missing)
	}
}

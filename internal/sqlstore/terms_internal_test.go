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
	terms, err := c.of(nil, []int64{2 * maxTerms}) // the last one, without a database
	if err != nil || terms[2*maxTerms].Cents != 2*maxTerms {
		t.Errorf("of = %v, %v", terms, err)
	}
}

package voucher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRedemptionIsChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		draft Redemption
		want  []string // names of fields with a problem
	}{
		"none":          {},
		"for ever":      {draft: Redemption{ByCode: true}},
		"until a time":  {draft: Redemption{ByCode: true, ValidUntil: now.Add(time.Second)}},
		"for some days": {draft: Redemption{ByCode: true, ValidDays: MaxValidDays}},
		"until now":     {draft: Redemption{ByCode: true, ValidUntil: now}, want: []string{"validUntil"}},
		"until the year 10000": {
			draft: Redemption{ByCode: true, ValidUntil: now.AddDate(9000, 0, 0)}, want: []string{"validUntil"},
		},
		"for no days": {draft: Redemption{ByCode: true, ValidDays: -1}, want: []string{"validDays"}},
		"for too many days": {
			draft: Redemption{ByCode: true, ValidDays: MaxValidDays + 1}, want: []string{"validDays"},
		},
		"both": {
			draft: Redemption{ByCode: true, ValidDays: 1, ValidUntil: now.Add(time.Hour)}, want: []string{"validDays"},
		},
		"a date without redemption": {
			draft: Redemption{ValidUntil: now.Add(time.Hour), ValidDays: 3}, want: []string{"validUntil", "validDays"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := goodDraft()
			d.Redemption = tc.draft
			var r fieldRules
			if v := d.check(&r, now); tc.want == nil && v.Redemption != tc.draft {
				t.Errorf("%+v has become %+v", tc.draft, v.Redemption)
			}
			if diff := cmp.Diff(tc.want, fields(r.Problems)); diff != "" {
				t.Errorf("fields with a problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCouponsAreValidFromThePayment(t *testing.T) {
	t.Parallel()
	until := now.Add(time.Hour)
	for want, r := range map[time.Time]Redemption{
		{}: {ByCode: true}, until: {ByCode: true, ValidUntil: until},
		now.Add(72 * time.Hour): {ByCode: true, ValidDays: 3},
	} {
		if got := r.Until(now); !got.Equal(want) {
			t.Errorf("%+v: until %v, want %v", r, got, want)
		}
	}
}

// Coupons of the last units sold can still be used, whether a sale is created or moved.
func TestSaleEndsBeforeItsCoupons(t *testing.T) {
	t.Parallel()
	v := selling()
	v.Redemption = Redemption{ByCode: true, ValidUntil: v.Sale.End.Add(time.Hour)}
	for after, fine := range map[time.Duration]bool{59 * time.Minute: true, time.Hour: false} {
		moved, sale := v, *v.Sale
		moved.Sale = &sale
		err := Change{End: new(v.Sale.End.Add(after))}.apply(&moved, now)
		if (err == nil) != fine {
			t.Errorf("an end %v later: %v", after, err)
		}
	}
}

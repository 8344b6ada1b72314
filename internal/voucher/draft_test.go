package voucher

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
)

var now = time.Date(2026, 1, 2, 20, 0, 0, 0, time.UTC)

func goodDraft() Draft {
	return Draft{
		PerUser: 1, ShopID: 1, Title: "100 for 10", SubTitle: "tonight", Rules: "one each",
		PayValue: 1000, ActualValue: 10000,
	}
}

func goodSale() SaleDraft {
	return SaleDraft{Stock: 5000, Begin: now.Add(time.Hour), End: now.Add(2 * time.Hour)}
}

// fields returns which fields the problems name, each once for each problem.
func fields(ps []invalid.Problem) []string {
	var names []string
	for _, p := range ps {
		names = append(names, p.Field)
	}
	return names
}

func TestDraftRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Draft)
		want   []string // names of fields with a problem
	}{
		"good":                        {change: func(*Draft) {}},
		"free":                        {change: func(d *Draft) { d.PayValue = 0 }},
		"optional texts may be empty": {change: func(d *Draft) { d.SubTitle, d.Rules = "", "" }},
		"the longest title":           {change: func(d *Draft) { d.Title = strings.Repeat("券", MaxTitle) }},
		"a title too long": {
			change: func(d *Draft) { d.Title = strings.Repeat("券", MaxTitle+1) }, want: []string{"title"},
		},
		"a blank title":             {change: func(d *Draft) { d.Title = " \t" }, want: []string{"title"}},
		"a title that is not UTF-8": {change: func(d *Draft) { d.Title = "a\xff" }, want: []string{"title"}},
		"a title with a zero byte":  {change: func(d *Draft) { d.Title = "a\x00b" }, want: []string{"title"}},
		"a title of two lines":      {change: func(d *Draft) { d.Title = "a\nb" }, want: []string{"title"}},
		"a subtitle of two lines":   {change: func(d *Draft) { d.SubTitle = "a\r\nb" }, want: []string{"subTitle"}},
		"rules of two lines":        {change: func(d *Draft) { d.Rules = "a\nb" }},
		"a subtitle too long": {
			change: func(d *Draft) { d.SubTitle = strings.Repeat("x", MaxTitle+1) }, want: []string{"subTitle"},
		},
		"rules too long": {
			change: func(d *Draft) { d.Rules = strings.Repeat("x", MaxRules+1) }, want: []string{"rules"},
		},
		"no shop":                  {change: func(d *Draft) { d.ShopID = 0 }, want: []string{"shopId"}},
		"a shop beyond JavaScript": {change: func(d *Draft) { d.ShopID = MaxID + 1 }, want: []string{"shopId"}},
		"a negative price":         {change: func(d *Draft) { d.PayValue = -1 }, want: []string{"payValue"}},
		"an absurd price": {
			change: func(d *Draft) { d.PayValue = math.MaxInt64 }, want: []string{"payValue"},
		},
		"worth nothing":      {change: func(d *Draft) { d.ActualValue = 0 }, want: []string{"actualValue"}},
		"a second to pay":    {change: func(d *Draft) { d.PayWithin = MinPayWithin }},
		"thirty days to pay": {change: func(d *Draft) { d.PayWithin = MaxPayWithin }},
		"no time to pay": {
			change: func(d *Draft) { d.PayWithin = -time.Second }, want: []string{"payWithinSeconds"},
		},
		"too much time to pay": {
			change: func(d *Draft) { d.PayWithin = MaxPayWithin + time.Second }, want: []string{"payWithinSeconds"},
		},
		"a part of a second to pay": {
			change: func(d *Draft) { d.PayWithin = 1500 * time.Millisecond }, want: []string{"payWithinSeconds"},
		},
		"hidden for a while": {change: func(d *Draft) { d.VisibleFrom = now.Add(time.Minute) }},
		"hidden before the years": {
			change: func(d *Draft) { d.VisibleFrom = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) },
			want:   []string{"visibleFrom"},
		},
		"everything wrong at once": {
			change: func(d *Draft) { *d = Draft{PayValue: -1} },
			want:   []string{"shopId", "title", "payValue", "actualValue"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := goodDraft()
			tc.change(&d)
			var r fieldRules
			d.check(&r, now)
			if diff := cmp.Diff(tc.want, fields(r.Problems)); diff != "" {
				t.Errorf("fields with a problem (-want +got):\n%s", diff)
			}
			for _, p := range r.Problems {
				if p.Reason.Code == "" || p.Allowed.Code == "" {
					t.Errorf("problem %+v lacks the reason, or what is allowed", p)
				}
			}
		})
	}
}

// The default is fifteen minutes to pay.
func TestDefaultTimeToPay(t *testing.T) {
	t.Parallel()
	d := goodDraft()
	for given, want := range map[time.Duration]time.Duration{0: 15 * time.Minute, time.Minute: time.Minute} {
		var r fieldRules
		d.PayWithin = given
		if v := d.check(&r, now); v.PayWithin != want || r.Err() != nil {
			t.Errorf("%s became %s, %v", given, v.PayWithin, r.Err())
		}
	}
}

func TestSaleDraftRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*SaleDraft)
		want   []string
	}{
		"good":                {change: func(*SaleDraft) {}},
		"begun already":       {change: func(d *SaleDraft) { d.Begin = now.Add(-time.Hour) }},
		"no units":            {change: func(d *SaleDraft) { d.Stock = 0 }, want: []string{"stock"}},
		"too many units":      {change: func(d *SaleDraft) { d.Stock = MaxStock + 1 }, want: []string{"stock"}},
		"ends when it begins": {change: func(d *SaleDraft) { d.End = d.Begin }, want: []string{"endTime"}},
		"over already": {
			change: func(d *SaleDraft) { d.Begin, d.End = now.Add(-2*time.Hour), now }, want: []string{"endTime"},
		},
		"no begin": {change: func(d *SaleDraft) { d.Begin = time.Time{} }, want: []string{"beginTime"}},
		"no end":   {change: func(d *SaleDraft) { d.End = time.Time{} }, want: []string{"endTime"}},
		"beyond any calendar": {
			change: func(d *SaleDraft) { d.End = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
			want:   []string{"endTime"},
		},
		"everything wrong": {
			change: func(d *SaleDraft) { *d = SaleDraft{} }, want: []string{"stock", "beginTime", "endTime"},
		},
		"less than one ms of it": {
			change: func(d *SaleDraft) { d.End = d.Begin.Add(time.Microsecond) }, want: []string{"endTime"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := goodSale()
			tc.change(&d)
			var r fieldRules
			d.check(&r, now)
			if diff := cmp.Diff(tc.want, fields(r.Problems)); diff != "" {
				t.Errorf("fields with a problem (-want +got):\n%s", diff)
			}
		})
	}
}

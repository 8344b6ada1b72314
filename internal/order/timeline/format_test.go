package timeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/histogram"
	"seckill/internal/order/gate"
)

// A minute's counts come back from their texts, with and without how long answers took.
func TestTexts(t *testing.T) {
	t.Parallel()
	counts := map[gate.Answer]*Seconds{"accepted": {0: 3, 59: 1}, "sold_out": {7: 2}}
	for _, test := range []struct {
		took            map[int]histogram.Counts
		all             histogram.Counts
		totals, seconds string
	}{
		{
			nil,
			nil,
			`{"accepted":4,"sold_out":2}`,
			`{"accepted":{"0":3,"59":1},"sold_out":{"7":2}}`,
		},
		{
			map[int]histogram.Counts{0: {1, 2}, 59: {0, 0, 1}},
			histogram.Counts{1, 2, 1},
			`{"accepted":4,"sold_out":2,"took":[1,2,1]}`,
			`{"accepted":{"0":3,"59":1},"sold_out":{"7":2},"took":{"0":[1,2],"59":[0,0,1]}}`,
		},
	} {
		m := Minute{Counts: counts, Took: test.took}
		totals, seconds, err := m.Texts()
		if err != nil || totals != test.totals || seconds != test.seconds {
			t.Errorf("%v: %s and %s, want %s and %s", err, totals, seconds, test.totals, test.seconds)
		}
		inAll, tookInAll := ParseTotals(totals)
		if diff := cmp.Diff(m.Totals(), inAll); diff != "" || !slices.Equal(test.all, tookInAll) {
			t.Errorf("all took %v; totals (-want +got):\n%s", tookInAll, diff)
		}
		each, took := ParseSeconds(seconds)
		if diff := cmp.Diff(m, Minute{Counts: each, Took: took}); diff != "" {
			t.Errorf("seconds (-want +got):\n%s", diff)
		}
	}
	if slices.Contains(gate.Answers(), tookKey) {
		t.Error("an answer has the name of the histograms")
	}
}

// Even with each second's answers spread over all buckets, a minute fits into its columns.
func TestTextsFit(t *testing.T) {
	t.Parallel()
	m := Minute{Counts: map[gate.Answer]*Seconds{}, Took: map[int]histogram.Counts{}}
	for second := range 60 {
		took := make(histogram.Counts, histogram.Buckets)
		for i := range took {
			took[i] = 100_000
		}
		m.Took[second] = took
		for _, answer := range gate.Answers() {
			if m.Counts[answer] == nil {
				m.Counts[answer] = new(Seconds)
			}
			m.Counts[answer][second] = 1_000_000
		}
	}
	if totals, seconds, err := m.Texts(); err != nil || len(totals) > 1024 || len(seconds) > 1<<16-1 {
		t.Errorf("%v: %d and %d bytes", err, len(totals), len(seconds))
	} else {
		t.Logf("%d and %d bytes", len(totals), len(seconds))
	}
}

// unreadable returns texts of which at least a part cannot be read.
func unreadable() (totals, seconds []string) {
	seconds = []string{
		"", "x", "null", `{"accepted":{"0":1}`, `{"accepted":{"0":1,"60":1}}`, `{"accepted":{"-1":1}}`,
		`{"accepted":{"0":1},"sold_out":7}`, `{"accepted":{"0":1},"took":[1]}`,
		`{"accepted":{"0":1},"took":{"60":[1]}}`, `{"accepted":{"0":1},"took":{"0":[-1]}}`,
		`{"accepted":{"0":1},"took":{"0":[1` + strings.Repeat(",1", histogram.Buckets) + `]}}`,
	}
	totals = []string{
		"", "x", "null", `{"accepted":1,"sold_out":"x"}`, `{"accepted":1,"took":1}`, `{"accepted":1,"took":[-1]}`,
		`{"accepted":1,"took":[1` + strings.Repeat(",1", histogram.Buckets) + `]}`,
	}
	return totals, seconds
}

// A text that cannot be read has no counts, not some of them.
func TestUnreadableTexts(t *testing.T) {
	t.Parallel()
	totals, seconds := unreadable()
	for _, text := range seconds {
		if counts, took := ParseSeconds(text); counts != nil || took != nil {
			t.Errorf("seconds %s: %v, %v", text, counts, took)
		}
	}
	for _, text := range totals {
		if counts, took := ParseTotals(text); counts != nil || took != nil {
			t.Errorf("totals %s: %v, %v", text, counts, took)
		}
	}
}

// FuzzParse: for any text in a row, the parsed counts are valid, and writing and parsing them again changes nothing.
func FuzzParse(f *testing.F) {
	totals, seconds := unreadable()
	for _, text := range slices.Concat(totals, seconds, []string{
		"{}", `{"accepted":{"0":3,"59":1},"took":{"0":[1,2]}}`, `{"accepted":4,"took":[1,2,1]}`, `{"took":{"7":null}}`,
	}) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, inAll := ParseTotals(text)
		if inAll.Quantile(0.99) < 0 || !inAll.Valid() {
			t.Errorf("totals: %v", inAll)
		}
		counts, took := ParseSeconds(text)
		if counts == nil {
			return
		}
		m := Minute{Counts: counts, Took: took}
		_, again, err := m.Texts()
		if err != nil {
			t.Fatal(err)
		}
		gotCounts, gotTook := ParseSeconds(again)
		if diff := cmp.Diff(counts, gotCounts); diff != "" {
			t.Errorf("counts (-read +read again):\n%s", diff)
		}
		for second := range 60 {
			if !slices.Equal(took[second], gotTook[second]) || !took[second].Valid() {
				t.Errorf("second %d: %v, read again %v", second, took[second], gotTook[second])
			}
		}
	})
}

package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

// A minute's counts come back from their texts.
func TestTexts(t *testing.T) {
	t.Parallel()
	m := Minute{Counts: map[order.Answer]*Seconds{"accepted": {0: 3, 59: 1}, "sold_out": {7: 2}}}
	totals, seconds, err := m.Texts()
	if want := `{"accepted":{"0":3,"59":1},"sold_out":{"7":2}}`; err != nil || seconds != want {
		t.Errorf("%v: %s, want %s", err, seconds, want)
	}
	if diff := cmp.Diff(m.Totals(), ParseTotals(totals)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m.Counts, ParseSeconds(seconds)); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
}

// A text that cannot be read has no counts, not some of them.
func TestUnreadableTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "x", `{"accepted":{"0":1}`, `{"accepted":{"0":1,"60":1}}`, `{"accepted":{"-1":1}}`,
		`{"accepted":{"0":1},"sold_out":7}`,
	} {
		if got := ParseSeconds(text); got != nil {
			t.Errorf("seconds %s: %v", text, got)
		}
	}
	for _, text := range []string{"", "x", `{"accepted":1,"sold_out":"x"}`} {
		if got := ParseTotals(text); got != nil {
			t.Errorf("totals %s: %v", text, got)
		}
	}
}

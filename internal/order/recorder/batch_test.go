package recorder

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

// keyed returns one entry per letter of the text, with that letter in lower case as its key. Orders are numbered from
// 1. A capital letter stands for an entry that cannot be decoded.
func keyed(text string) []order.Entry {
	var entries []order.Entry
	for i, letter := range text {
		e := order.Entry{Key: strings.ToLower(string(letter)), Claim: order.Claim{OrderID: int64(i + 1)}}
		if e.Key != string(letter) {
			e.Malformed, e.Claim = errors.New("unreadable"), order.Claim{}
		}
		entries = append(entries, e)
	}
	return entries
}

// Orders that share an entry of the stream are never in two batches.
func TestSplit(t *testing.T) {
	t.Parallel()
	for entries, want := range map[string][]string{
		"":          nil,
		"abc":       {"abc"},
		"abcdef":    {"abc", "def"},
		"abbb":      {"abbb"},
		"aabbcc":    {"aabb", "cc"},
		"aaaaabcde": {"aaaaa", "bcd", "e"},
		"abcccccd":  {"abccccc", "d"},
	} {
		var got []string
		for _, part := range split(keyed(entries), 3) {
			var text strings.Builder
			for _, e := range part {
				text.WriteString(e.Key)
			}
			got = append(got, text.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entries, diff)
		}
	}
}

// An entry leaves the stream once all its orders are settled and corrected.
func TestDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries   string
		unsettled []int // numbers of the orders that are not settled, from 1
		left      []int64
		want      string
	}{
		"one order per entry":              {"abc", nil, nil, "abc"},
		"one is not settled":               {"abc", []int{2}, nil, "ac"},
		"one is not corrected":             {"abc", nil, []int64{3}, "ab"},
		"several orders per entry":         {"aabccc", nil, nil, "abc"},
		"one of several is not settled":    {"aabccc", []int{2}, nil, "bc"},
		"one of several is not corrected":  {"aabccc", nil, []int64{6}, "ab"},
		"unreadable, for the dead letters": {"aBc", nil, nil, "ac"},
		"nothing is settled":               {"aab", []int{1, 2, 3}, nil, ""},
	} {
		all := keyed(c.entries)
		b := newBatch(all)
		for i, e := range all {
			if e.Malformed == nil && !slices.Contains(c.unsettled, i+1) {
				b.settled = append(b.settled, e)
			}
		}
		left := map[int64]bool{}
		for _, id := range c.left {
			left[id] = true
		}
		if got := strings.Join(b.done(left), ""); got != c.want {
			t.Errorf("%s: entries %q are acknowledged, want %q", name, got, c.want)
		}
	}
	// Two orders have one id, as after the id counter was lost. If one is settled, only its entry leaves the stream.
	twice := keyed("ab")
	twice[1].Claim.OrderID = twice[0].Claim.OrderID
	b := newBatch(twice)
	b.settled = twice[:1]
	if diff := cmp.Diff([]string{"a"}, b.done(nil)); diff != "" {
		t.Errorf("two orders with one id (-want +got):\n%s", diff)
	}
}

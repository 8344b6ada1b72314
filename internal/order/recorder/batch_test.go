package recorder

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

// keyed is an entry for each letter of the text, with that letter as its key; orders are numbered from 1. A capital one cannot
// be read.
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

func keysOf(entries []order.Entry) string {
	var text strings.Builder
	for _, e := range entries {
		text.WriteString(e.Key)
	}
	return text.String()
}

// What shares an entry of the stream is never in two batches.
func TestSplit(t *testing.T) {
	t.Parallel()
	for entries, want := range map[string][]string{
		"":          nil,
		"abc":       {"abc"},
		"abcdef":    {"abc", "def"},
		"abbb":      {"a", "bbb"},
		"aabbcc":    {"aa", "bb", "cc"},
		"aaaaabcde": {"aaaaa", "bcd", "e"},
		"abcccccd":  {"ab", "ccccc", "d"},
	} {
		var got []string
		for _, part := range split(keyed(entries), 3) {
			got = append(got, keysOf(part))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", entries, diff)
		}
	}
}

// An entry of the stream goes once all of its orders are settled and corrected, and becomes a dead letter no sooner.
func TestDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries   string
		unsettled []int64 // orders
		left      []int64
		keys      string
		dead      string
	}{
		"an order each":                        {"abc", nil, nil, "abc", ""},
		"one is not settled":                   {"abc", []int64{2}, nil, "ac", ""},
		"one is not corrected":                 {"abc", nil, []int64{3}, "ab", ""},
		"shared":                               {"aabccc", nil, nil, "abc", ""},
		"one that shares is not settled":       {"aabccc", []int64{2}, nil, "bc", ""},
		"one that shares is not corrected":     {"aabccc", nil, []int64{6}, "ab", ""},
		"unreadable":                           {"aBc", nil, nil, "ac", "b"},
		"unreadable in part":                   {"aabBc", nil, nil, "ac", "b"},
		"unreadable in part, rest not settled": {"abbBc", []int64{3}, nil, "ac", ""},
	} {
		b := newBatch(keyed(c.entries))
		for _, e := range b.claimed {
			if !slices.Contains(c.unsettled, e.Claim.OrderID) {
				b.settled = append(b.settled, e)
			}
		}
		left := map[int64]bool{}
		for _, id := range c.left {
			left[id] = true
		}
		keys, dead := b.done(left)
		if got := strings.Join(keys, ""); got != c.keys || keysOf(dead) != c.dead {
			t.Errorf("%s: %q acknowledged, %q dead letters; want %q, %q", name, got, keysOf(dead), c.keys, c.dead)
		}
	}
}

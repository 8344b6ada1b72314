package timeline

import (
	"encoding/json"
	"fmt"

	"seckill/internal/kit/histogram"
	"seckill/internal/order/gate"
)

// A minute is stored as two JSON objects: the totals (answer → requests) and the seconds (answer → second → requests,
// without zeros). Both may also have a member with the counts of a histogram of how long answers took: one for the
// whole minute, or one for each second. The histograms of the seconds take some 3 KB for a minute of a rush, and 15 KB
// if each second has answers in every bucket.

// tookKey is the name of the member with the histograms. No answer has this name.
const tookKey = "took"

// Texts returns the minute's counts as they are stored, in JSON: the totals, and the counts of each second.
func (m Minute) Texts() (totals, seconds string, err error) {
	all, each := make(map[gate.Answer]any), make(map[gate.Answer]any)
	for answer, n := range m.Totals() {
		all[answer] = n
	}
	for answer, seconds := range m.Counts {
		counts := make(map[int]int64)
		for second, n := range seconds {
			if n != 0 {
				counts[second] = n
			}
		}
		each[answer] = counts
	}
	if len(m.Took) > 0 {
		all[tookKey], each[tookKey] = m.TookInAll(), m.Took
	}
	if totals, err = text(all); err == nil {
		seconds, err = text(each)
	}
	return totals, seconds, err
}

func text(counts map[gate.Answer]any) (string, error) {
	rendered, err := json.Marshal(counts)
	if err != nil {
		return "", fmt.Errorf("rendering a sale's minute: %w", err)
	}
	return string(rendered), nil
}

// ParseTotals reads the totals and the histogram from their text. A missing part is nil; if the text cannot be read,
// both are nil.
func ParseTotals(text string) (gate.Counts, histogram.Counts) {
	counts, took := parse[int64, histogram.Counts](text)
	if !took.Valid() {
		return nil, nil
	}
	return counts, took
}

// ParseSeconds reads the counts and the histogram of each second from their text. A missing part is nil; if the text
// cannot be read, both are nil.
func ParseSeconds(text string) (map[gate.Answer]*Seconds, map[int]histogram.Counts) {
	kept, took := parse[map[int]int64, map[int]histogram.Counts](text)
	if kept == nil {
		return nil, nil
	}
	counts := make(map[gate.Answer]*Seconds, len(kept))
	for answer, seconds := range kept {
		counts[answer] = new(Seconds)
		for second, n := range seconds {
			if !isSecond(second) {
				return nil, nil
			}
			counts[answer][second] = n
		}
	}
	for second, counts := range took {
		if !isSecond(second) || !counts.Valid() {
			return nil, nil
		}
	}
	return counts, took
}

func isSecond(n int) bool { return n >= 0 && n < len(Seconds{}) }

// parse returns the counts of each answer in a text, and its histograms; nothing if a part of the text cannot be read.
func parse[C, H any](text string) (counts map[gate.Answer]C, took H) {
	var none H
	var members map[gate.Answer]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return nil, none
	}
	counts = make(map[gate.Answer]C, len(members))
	for name, member := range members {
		var err error
		if name == tookKey {
			err = json.Unmarshal(member, &took)
		} else {
			var c C
			err = json.Unmarshal(member, &c)
			counts[name] = c
		}
		if err != nil {
			return nil, none
		}
	}
	return counts, took
}

package timeline

import (
	"encoding/json"
	"fmt"

	"seckill/internal/order"
)

// stored are the counts of a minute as they are stored: answer → second → requests, without zeros.
type stored map[order.Answer]map[int]int64

// Texts returns the minute's counts as they are stored, in JSON: the totals, and the counts of each second.
func (m Minute) Texts() (totals, seconds string, err error) {
	counts := make(stored, len(m.Counts))
	for answer, seconds := range m.Counts {
		counts[answer] = make(map[int]int64)
		for second, n := range seconds {
			if n != 0 {
				counts[answer][second] = n
			}
		}
	}
	all, err := json.Marshal(m.Totals())
	if err != nil {
		return "", "", fmt.Errorf("rendering a sale's minute: %w", err)
	}
	each, err := json.Marshal(counts)
	if err != nil {
		return "", "", fmt.Errorf("rendering a sale's minute: %w", err)
	}
	return string(all), string(each), nil
}

// ParseTotals returns the totals from their text, or nil if it cannot be read.
func ParseTotals(text string) order.Counts {
	var totals order.Counts
	if json.Unmarshal([]byte(text), &totals) != nil {
		return nil // part of it may have been read
	}
	return totals
}

// ParseSeconds returns the counts of each second from their text, or nil if it cannot be read.
func ParseSeconds(text string) map[order.Answer]*Seconds {
	var kept stored
	if json.Unmarshal([]byte(text), &kept) != nil {
		return nil
	}
	counts := make(map[order.Answer]*Seconds, len(kept))
	for answer, seconds := range kept {
		counts[answer] = new(Seconds)
		for second, n := range seconds {
			if second < 0 || second >= len(Seconds{}) {
				return nil
			}
			counts[answer][second] = n
		}
	}
	return counts
}

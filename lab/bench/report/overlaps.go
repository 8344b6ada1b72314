package report

import (
	"fmt"

	"seckill/lab/bench/result"
)

// OverlapTable shows what happened under each kind of lock while some of its holders stalled.
func OverlapTable(all []result.Overlap) string {
	rows := [][]string{{
		"Lock in Redis", "Holders", "Of them while another held it", "Orders of users who had one",
	}}
	for _, f := range all {
		rows = append(rows, []string{
			f.Candidate, fmt.Sprint(f.Turns), fmt.Sprint(f.Overlaps), fmt.Sprint(f.Duplicates),
		})
	}
	return grid(rows)
}

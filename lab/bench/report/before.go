package report

import (
	"fmt"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// beforeTable has a row for each target, with the older commit's result beside this one's, and a row for each process's
// time per order.
func beforeTable(run result.Run) string {
	before, now := comparedBefore(run), compared(run)
	rows := [][]string{{"", "Figure", "Before, " + run.Before.Commit, "After, " + run.Machine.Commit, "Target", ""}}
	for i, t := range now.Targets {
		rows = append(rows,
			[]string{t.ID, t.What, targetFigure(before.Targets[i]), targetFigure(t), goal(t), verdict(t)})
	}
	for _, name := range []string{candidate.Service, candidate.SoldOut, candidate.ManySales} {
		for _, process := range []struct {
			what   string
			figure result.Name
		}{{"service", result.ServerTime}, {"Redis", result.RedisTime}, {"database", result.DatabaseTime}} {
			was, is := before.spread(name, process.figure), now.spread(name, process.figure)
			if was != (spread{}) || is != (spread{}) {
				rows = append(rows, []string{"", fmt.Sprintf("%s: processor time of an answer, %s, µs",
					name, process.what), was.text(1), is.text(1), "", ""})
			}
		}
	}
	return grid(rows)
}

// beforeSection returns the table and how it was measured, as a part of the report.
func beforeSection(run result.Run) string {
	return fmt.Sprintf("\n## Before and after\n\nMeasured in one run, the two services in turn in each of %d rounds."+
		"\n\n%s", run.Plan.Rounds, beforeTable(run))
}

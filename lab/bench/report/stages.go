package report

import (
	"fmt"
	"slices"
	"strings"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// candidateTable has a row for each candidate.
func (c comparison) candidateTable() string {
	rows := [][]string{{"", "answers/s", "p50 ms", "p99 ms", "recorded/s under load", "recorded/s draining", "drain s"}}
	for _, name := range candidate.All() {
		i := slices.IndexFunc(c.Candidates, func(s result.Series) bool { return s.Candidate == name })
		if i < 0 {
			continue
		}
		text := func(figure result.Name, digits int) string {
			return over(c.Candidates[i].Figure(figure).Samples).text(digits)
		}
		drain := text(result.Drain, 2)
		if c.Candidates[i].Figure(result.Drain).Estimated {
			drain += " (extrapolated)"
		}
		rows = append(rows, []string{
			name, text(result.Rate, 0), text(result.P50, 2), text(result.P99, 2),
			text(result.RecordedMeanwhile, 0), text(result.RecordedDraining, 0), drain,
		})
	}
	return grid(rows)
}

// answersWhenRecorded reports whether a candidate answers after the row is committed. Its rate of recording under load
// is then the rate of answers, cut off at both ends.
func answersWhenRecorded(name string) bool {
	return slices.Contains([]string{candidate.Check, candidate.Update, candidate.UserLock, candidate.RedisLock}, name)
}

// stageTable shows the speed and the faults of the designs side by side.
func (c comparison) stageTable() string {
	rows := [][]string{{"Stage", "Answers/s", "Recorded/s meanwhile", "What goes wrong"}}
	for _, name := range []string{
		candidate.Gin, candidate.Bare, candidate.Check, candidate.Update, candidate.UserLock, candidate.RedisLock,
		candidate.Memory, candidate.List,
		candidate.Pubsub, candidate.Stream, candidate.Service, candidate.Always, candidate.SoldOut,
	} {
		recorded := c.spread(name, result.RecordedMeanwhile).text(0)
		if answersWhenRecorded(name) {
			recorded = "all of them"
		}
		rows = append(rows, []string{name, c.spread(name, result.Rate).text(0), recorded, c.fault(name)})
	}
	return grid(append(rows,
		[]string{candidate.RawScript, c.spread(candidate.RawScript, result.Rate).text(0), "", "the limit of admission"},
		[]string{
			candidate.RawScripts, c.spread(candidate.RawScripts, result.Rate).text(0), "",
			"the same, as this service calls it",
		},
		[]string{
			candidate.RawInsert, "", c.spread(candidate.RawInsert, result.RecordedDraining).text(0),
			"the limit of recording",
		}))
}

// fault says what went wrong with a design in this run.
func (c comparison) fault(name string) string {
	var faults []string
	for _, f := range c.Contention {
		if strings.TrimSuffix(f.Candidate, candidate.TwoOfThem) != name {
			continue
		}
		if f.Oversold > 0 {
			faults = append(faults, fmt.Sprintf("%d units sold %d times", f.Units, f.Orders))
		}
		if f.Duplicates > 0 {
			where := ""
			if f.Processes > 1 {
				where = fmt.Sprintf(" (%d processes)", f.Processes)
			}
			faults = append(faults, fmt.Sprintf("%d orders of users who had one%s", f.Duplicates, where))
		}
	}
	for _, f := range c.Crashes {
		if f.Candidate == name && f.Lost > 0 {
			faults = append(faults, fmt.Sprintf("SIGKILL loses %s of %s accepted orders",
				number(f.Lost), number(f.Accepted)))
		}
	}
	switch {
	case name == candidate.Gin:
		return "the limit of the HTTP side: nothing is sold, no token is checked"
	case name == candidate.Bare:
		return "this service's HTTP side alone: nothing is sold"
	case len(faults) == 0 && name == candidate.Stream:
		return "nothing is lost; minutes of work wait"
	case len(faults) == 0:
		return ""
	}
	return strings.Join(faults, "; ")
}

func (c comparison) contentionTable() string {
	rows := [][]string{{"", "Processes", "Units", "Orders", "Oversold", "Orders of users who had one"}}
	for _, f := range c.Contention {
		rows = append(rows, []string{
			f.Candidate, fmt.Sprint(f.Processes), fmt.Sprint(f.Units), fmt.Sprint(f.Orders), fmt.Sprint(f.Oversold),
			fmt.Sprint(f.Duplicates),
		})
	}
	return grid(rows)
}

func (c comparison) crashTable() string {
	rows := [][]string{{"", "Killed", "Accepted", "Recorded", "Still queued", "Lost"}}
	for _, f := range c.Crashes {
		rows = append(rows,
			[]string{f.Candidate, f.Killed, number(f.Accepted), number(f.Recorded), number(f.Queued), number(f.Lost)})
	}
	return grid(rows)
}

func number[N int | int64 | uint64](n N) string { return figure(float64(n)) }

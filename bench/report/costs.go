package report

import (
	"fmt"

	"seckill/bench/candidate"
	"seckill/bench/result"
)

// costTable says how much processor time an answer takes, by process.
func (c comparison) costTable() string {
	rows := [][]string{{"Processor time per answer, µs", "candidate", "Redis", "database", "load generator", "together"}}
	for _, name := range candidate.All() {
		total := c.totalTime(name)
		if total == (spread{}) {
			continue
		}
		row := []string{name}
		for _, process := range []result.Name{result.ServerTime, result.RedisTime, result.DatabaseTime, result.LoadTime} {
			row = append(row, c.spread(name, process).text(0))
		}
		rows = append(rows, append(row, total.text(0)))
	}
	return grid(rows)
}

// bounds say how fast a service with this HTTP side can be on this machine, compared with the tutorials' stream, if all
// that it does beyond the HTTP side costs no more than each store's own limit: the raw script, with 128 buyers in a
// call, and the raw insert.
func (c comparison) bounds() string {
	front := c.totalTime(candidate.Bare).median
	script := c.spread(candidate.RawScripts, result.RedisTime).median
	insert := c.spread(candidate.RawInsert, result.DatabaseTime).median
	stream, streamHeld := c.totalTime(candidate.Stream).median, c.totalTime(candidate.StreamHeld).median
	if front == 0 || script == 0 || insert == 0 || stream == 0 || streamHeld == 0 {
		return "" // a store on another machine, or a candidate that was left out
	}
	admission, recording := front+script, front+script+insert
	return fmt.Sprintf("How far P3 can go: the bare handler takes %.0f µs for an answer, load generator included, the raw script %.0f µs for a "+
		"buyer, the raw insert %.0f µs for a row. A service with this HTTP side that calls one script and writes one row thus takes at least "+
		"%.0f µs, which is %.2f times as fast as the tutorials' stream, or %.2f times while nothing is recorded. This service takes %.0f µs and %.0f µs.\n",
		front, script, insert, recording, stream/recording, streamHeld/admission,
		c.totalTime(candidate.Service).median, c.totalTime(candidate.ServiceHeld).median)
}

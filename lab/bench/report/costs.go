package report

import (
	"fmt"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// costTable shows the processor time of an answer, by process.
func (c comparison) costTable() string {
	rows := [][]string{
		{"Processor time per answer, µs", "candidate", "Redis", "database", "load generator", "together"},
	}
	for _, name := range candidate.All() {
		total := c.totalTime(name)
		if total == (spread{}) {
			continue
		}
		row := []string{name}
		for _, process := range []result.Name{
			result.ServerTime, result.RedisTime, result.DatabaseTime, result.LoadTime,
		} {
			row = append(row, c.spread(name, process).text(0))
		}
		rows = append(rows, append(row, total.text(0)))
	}
	return grid(rows)
}

// bounds says how fast a purchase can be on this machine: the cost of its parts alone, compared with its cost here and
// with the tutorials' stream.
func (c comparison) bounds() string {
	floor, all := over(c.floors()).median, c.totalTime(candidate.Service).median
	stream := c.totalTime(candidate.Stream).median
	if floor == 0 || all == 0 || stream == 0 {
		return "" // a store on another machine, or a candidate that was left out
	}
	return fmt.Sprintf("The floor of a purchase is %.0f µs: plain Gin with its load generator %.0f µs, one "+
		"HMAC %.1f µs, the raw script %.0f µs for a buyer, the raw insert %.0f µs for a row. This service takes %.0f "+
		"µs, the tutorials' stream, which records next to nothing meanwhile, %.0f µs.\n",
		floor, c.totalTime(candidate.Gin).median, c.totalTime(candidate.HMAC).median,
		c.spread(candidate.RawScripts, result.RedisTime).median,
		c.spread(candidate.RawInsert, result.DatabaseTime).median, all, stream)
}

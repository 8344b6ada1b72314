package main

import (
	"fmt"
	"strings"
)

// costs are a contestant's perAnswer over all rounds.
type costs struct {
	Client     spread `json:"loadGenerator"`
	Contestant spread `json:"contestant"`
	Redis      spread `json:"redis"`
	Database   spread `json:"database"`
	Sum        spread `json:"sum"`
}

// costTable says for which of the parties an answer is work, and how much.
func (r *report) costTable() string {
	var b strings.Builder
	rows := [][]string{{"Processor time per answer, µs", "contestant", "Redis", "database", "load generator", "together"}}
	for _, l := range r.Lines {
		c := l.Costs
		if c.Sum == (spread{}) {
			continue
		}
		rows = append(rows, []string{l.Contestant, c.Contestant.text(0), c.Redis.text(0), c.Database.text(0), c.Client.text(0), c.Sum.text(0)})
	}
	grid(&b, rows)
	return b.String()
}

// bounds say how fast a service with this front can be on this machine, compared with the tutorials' stream, if all that
// it does beyond the front costs no more than each store's own limit: the raw script, with 128 buyers in a call, and the
// raw insert.
func (r *report) bounds() string {
	front, script, insert := r.line(bareName).Costs.Sum.Median, r.line(rawScriptsName).Costs.Redis.Median, r.line(rawInsertName).Costs.Database.Median
	stream, streamHeld := r.line(streamName).Costs.Sum.Median, r.line(streamHeldName).Costs.Sum.Median
	if front == 0 || script == 0 || insert == 0 || stream == 0 || streamHeld == 0 {
		return "" // a store on another machine, or a contestant that was left out
	}
	admission, recording := front+script, front+script+insert
	return fmt.Sprintf("How far P3 can go: the bare handler takes %.0f µs for an answer, load generator included, the raw script %.0f µs for a "+
		"buyer, the raw insert %.0f µs for a row. Whatever has this front, asks one script and writes one row thus takes at least %.0f µs, "+
		"which is %.2f times as fast as the tutorials' stream, or %.2f times while nothing is recorded. This service takes %.0f µs and %.0f µs.\n",
		front, script, insert, recording, stream/recording, streamHeld/admission,
		r.line(serviceName).Costs.Sum.Median, r.line(serviceHeldName).Costs.Sum.Median)
}

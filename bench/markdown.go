package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"seckill/bench/chart"
)

// markdown is the report as a page.
func (r *report) markdown(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Accepted and recorded orders, %s\n\n%s\n\n", r.Machine.Date, r.Machine)
	fmt.Fprintf(&b, "Median of %d rounds of %.1f s with %d connections, lowest and highest in brackets. Every request is another user's, "+
		"with a token of his own, and all of them are accepted (refused, where it says sold out).\n\n", r.Plan.Rounds, r.Plan.Seconds, r.Plan.Connections)
	r.grid(&b)
	fmt.Fprintf(&b, "\n![Answers and recorded orders per second](%s.svg)\n\n", name)
	b.WriteString(r.targetTable())
	fmt.Fprintf(&b, "\n![How much of each target is reached](%s-targets.svg)\n\n", name)
	b.WriteString("Ratios are taken within each round. \"Recording held back\" keeps the sale's row locked while purchases come in: that is " +
		"admission alone, with a backlog to drain afterwards. A drain that would take long is extrapolated from the speed of its first second. " +
		"Half load is half of what this service accepted in the round, and comes when it is due, answered or not. " +
		"After each turn rows, stocks and answers were compared; they agreed.\n\n")
	b.WriteString("## Where the processors' time goes\n\n")
	b.WriteString(r.costTable())
	fmt.Fprintf(&b, "\n%s\n", r.bounds())
	b.WriteString("## Everybody presses four times\n\n")
	b.WriteString(r.rushTable())
	b.WriteString("\n## SIGKILL in the middle of a sale, then a new start\n\n")
	b.WriteString(r.crashTable())
	fmt.Fprintf(&b, "\n%s\n\n", r.Machine.durability())
	var client []float64
	for _, t := range r.Turns {
		if t.ClientCPU > 0 {
			client = append(client, t.ClientCPU)
		}
	}
	fmt.Fprintf(&b, "The load generator took %s of the %d processors.\n", over(client).text(2), r.Machine.Processors)
	b.WriteString("\nAgain: `make bench`. Every single figure: the JSON file beside this one.\n")
	return b.String()
}

// String says where the figures were taken.
func (m machine) String() string {
	return fmt.Sprintf("Commit %s, %s on %s, %d × %s, Redis %s, database %s. Load generator, contestant, Redis and database share this machine.",
		m.Commit, m.Go, m.System, m.Processors, m.Processor, m.Redis, m.Database)
}

// name is what a run's files are called.
func (m machine) name() string {
	date, _, _ := strings.Cut(m.Date, "T")
	return date + "-" + m.Commit
}

func (m machine) durability() string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(m.Durability)) {
		settings = append(settings, name+" "+m.Durability[name])
	}
	return "Durability: " + strings.Join(settings, ", ") + "."
}

// targetTable has a row for each figure that has a target.
func (r *report) targetTable() string {
	var b strings.Builder
	rows := [][]string{{"", "Figure", "Median (low–high)", "Target", ""}}
	for _, q := range r.Ratios {
		verdict := "missed"
		if q.met() {
			verdict = "met"
		}
		rows = append(rows, []string{q.ID, q.What, q.String(), q.target(), verdict})
	}
	grid(&b, rows)
	return b.String()
}

func (r *report) rushTable() string {
	var b strings.Builder
	rows := [][]string{{"", "Processes", "Units", "Orders", "Oversold", "Orders of users who had one"}}
	for _, d := range r.Rushes {
		rows = append(rows, []string{
			d.Contestant, fmt.Sprint(d.Processes), fmt.Sprint(d.Units), fmt.Sprint(d.Orders), fmt.Sprint(d.Oversold), fmt.Sprint(d.Twice),
		})
	}
	grid(&b, rows)
	return b.String()
}

func (r *report) crashTable() string {
	var b strings.Builder
	rows := [][]string{{"", "Killed", "Accepted", "Recorded", "Still queued", "Lost"}}
	for _, d := range r.Crashes {
		rows = append(rows, []string{
			d.Contestant, d.Killed, chart.Number(float64(d.Accepted)), chart.Number(float64(d.Recorded)),
			chart.Number(float64(d.Waiting)), chart.Number(float64(d.Lost)),
		})
	}
	grid(&b, rows)
	return b.String()
}

// rateChart has a bar for what each contestant answers, and one for what it records meanwhile.
func (r *report) rateChart() chart.Bars {
	c := chart.Bars{Title: "Orders per second: median, lowest and highest", Series: []string{"answered", "recorded at the same time"}}
	for _, l := range r.Lines {
		row := chart.Row{Label: l.Contestant, Bars: []chart.Bar{bar(l.Rate), bar(l.Meanwhile)}}
		switch l.Contestant {
		case oneSaleName, manySalesName, smallSalesName, fullSaleName, bareHalfName, serviceHalfName:
			continue // they are compared with each other, not with these
		case rawScriptName, rawScriptsName:
			continue // so much faster that nothing else could be read
		case rawInsertName:
			row.Bars[1] = bar(l.Draining)
		}
		// The database answers when it has recorded: what is seen during the load is the same figure, cut off at its ends.
		if slices.Contains([]string{checkName, updateName, userLockName, redisLockName}, l.Contestant) {
			row.Bars[1] = bar(l.Rate)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func bar(s spread) chart.Bar { return chart.Bar{Value: s.Median, Low: s.Low, High: s.High} }

// targetChart has a bar for how much of each target is reached.
func (r *report) targetChart() chart.Bars {
	const most = 200
	c := chart.Bars{Title: "How much of each target is reached, in percent", Series: []string{"reached"}, Most: most, Mark: 100, Marked: "target"}
	for _, q := range r.Ratios {
		if !q.measured() {
			continue
		}
		a, b := 100*q.share(q.Low), 100*q.share(q.High)
		c.Rows = append(c.Rows, chart.Row{Label: q.ID + " " + q.What, Bars: []chart.Bar{{
			Value: 100 * q.share(q.Median), Low: min(a, b, most), High: min(max(a, b), most), Text: q.String(),
		}}})
	}
	return c
}

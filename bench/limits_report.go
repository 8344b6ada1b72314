package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"seckill/bench/chart"
)

// tables prints everything for people.
func (l *limits) tables(w io.Writer) {
	fmt.Fprintf(w, "\nConnections that ask at the same time\n\n%s", curveTable(l.Connections, "Connections"))
	fmt.Fprintf(w, "\nVouchers on sale at once\n\n%s", curveTable(l.Sales, "Sales"))
	fmt.Fprintf(w, "\nUnits of one sale; who comes too late is refused\n\n%s", curveTable(l.Stock, "Units"))
	fmt.Fprintf(w, "\n%s\n\n%s\n\n%s\n\n%s\n", l.stampedeText(), l.saleText(), l.Waiting.text(), l.Closing.table())
}

func curveTable(curves []curve, axis string) string {
	var b strings.Builder
	rows := [][]string{{axis, "", "Answers/s", "p50 ms", "p99 ms", "Refused", "Server MB"}}
	for _, c := range curves {
		rows = append(rows, []string{
			chart.Number(float64(c.At)), c.Contestant, c.Rate.text(0), c.P50.text(1), c.P99.text(1),
			fmt.Sprintf("%.1f %%", c.Refused), fmt.Sprintf("%.0f", c.Memory),
		})
	}
	grid(&b, rows)
	return b.String()
}

func (l *limits) stampedeText() string {
	s := l.Stampede
	text := fmt.Sprintf("%s connections (each process may have %s files open), opened within %.1f s, one purchase on each: %s accepted, "+
		"%s failed; the last answer came after %.1f s, half of them within %.0f ms, 99 %% within %.0f ms, counted from the attempt to connect. "+
		"The server's memory went from %.0f MB to %.0f MB. An ordinary crowd got %s answers a second before, %s at once afterwards.",
		chart.Number(float64(s.Connections)), chart.Number(float64(s.FileLimit)), s.Opened, chart.Number(float64(s.Accepted)),
		chart.Number(float64(s.Failed)), s.Answered, s.P50, s.P99, s.Idle, s.Peak, chart.Number(s.Before), chart.Number(s.After))
	if s.FirstError != "" {
		text += " The first failure: " + s.FirstError + "."
	}
	return text
}

func (l *limits) saleText() string {
	c := l.Sale
	return fmt.Sprintf("%s buyers, %s units: sold out after %.1f s, the last row after %.1f s, the last of all buyers answered after %.1f s "+
		"(%s answers a second, p50 %.1f ms, p99 %.1f ms). At most %s accepted orders waited for their rows.",
		chart.Number(float64(c.Buyers)), chart.Number(float64(c.Units)), c.SoldOut, c.LastRow, c.Told, chart.Number(c.Rate), c.P50, c.P99,
		chart.Number(float64(c.MostLag)))
}

// write writes the limits as Markdown, charts and JSON, and brings the story up to date.
func (l *limits) write(dir string, progress io.Writer) error {
	name := l.Machine.name() + "-limits"
	raw, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err = writeFiles(dir, map[string]string{
		name + ".json":            string(raw) + "\n",
		name + ".md":              l.markdown(name),
		name + "-connections.svg": l.connectionsChart().SVG(),
		name + "-sale.svg":        l.saleChart().SVG(),
	}, progress); err != nil {
		return err
	}
	return updateStory(dir, l.sections(name), progress)
}

func (l *limits) markdown(name string) string {
	return fmt.Sprintf("# Limits and curves, %s\n\n%s\n\nMedian of %d rounds, lowest and highest in brackets. After each turn rows, stocks and "+
		"answers were compared; they agreed.\n\n## Connections\n\n![Answers per second by connections](%s-connections.svg)\n\n%s\n"+
		"## A stampede\n\n%s\n\n## Vouchers on sale at once\n\n%s\n## Units of a sale\n\nWho comes too late is refused, so small sales are mostly refusals.\n\n%s\n"+
		"## A long sale\n\n%s\n\n![A long sale over time](%s-sale.svg)\n\n## Waiting for rows\n\n%s\n\n"+
		"## Closing a backlog\n\n%s\n%s\n\nAgain: `make bench-limits`. Every single figure: the JSON file beside this one.\n",
		l.Machine.Date, l.Machine, l.Plan.Rounds, name, curveTable(l.Connections, "Connections"), l.stampedeText(),
		curveTable(l.Sales, "Sales"), curveTable(l.Stock, "Units"), l.saleText(), name,
		l.Waiting.text(), l.Closing.table(), l.Machine.durability())
}

// sections are the limits' part of the page.
func (l *limits) sections(name string) map[string]string {
	const dir = "benchmarks/"
	return map[string]string{"limits": fmt.Sprintf("**A sale.** %s\n\n![A long sale over time](%s%s-sale.svg)\n\n**A stampede.** %s\n\n"+
		"![Answers per second by connections](%s%s-connections.svg)\n\nMore sales at once, more units, all figures: [limits and curves](%s%s.md).\n",
		l.saleText(), dir, name, l.stampedeText(), dir, name, dir, name)}
}

func (l *limits) connectionsChart() chart.Bars {
	c := chart.Bars{Title: "Answers per second by connections", Series: []string{bareName, serviceName}}
	var counts []int64
	for _, p := range l.Connections {
		if !slices.Contains(counts, p.At) {
			counts = append(counts, p.At)
		}
	}
	for _, n := range counts {
		row := chart.Row{Label: chart.Number(float64(n)) + " connections", Bars: make([]chart.Bar, len(c.Series))}
		for _, p := range l.Connections {
			if p.At == n {
				row.Bars[slices.Index(c.Series, p.Contestant)] = bar(p.Rate)
			}
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// saleChart shows the sale until a little after its last row: from then on there are only refusals.
func (l *limits) saleChart() chart.Lines {
	series := func(of func(point) int64) [][2]float64 {
		var points [][2]float64
		for _, p := range l.Sale.Points {
			if p.Second <= 1.2*l.Sale.LastRow {
				points = append(points, [2]float64{p.Second, float64(of(p))})
			}
		}
		return points
	}
	return chart.Lines{
		Title: fmt.Sprintf("%s buyers, %s units, until the last row", chart.Number(float64(l.Sale.Buyers)), chart.Number(float64(l.Sale.Units))),
		X:     "seconds since the start",
		Panels: []chart.Panel{
			{Title: "orders", Lines: []chart.Line{
				{Name: "accepted", Points: series(func(p point) int64 { return p.Accepted })},
				{Name: "recorded", Points: series(func(p point) int64 { return p.Recorded })},
			}},
			{Title: "accepted orders that wait for their row", Lines: []chart.Line{
				{Name: "waiting", Points: series(func(p point) int64 { return p.Accepted - p.Recorded })},
			}},
			{Title: "buyers told that it is sold out", Lines: []chart.Line{
				{Name: "refused", Points: series(func(p point) int64 { return p.Refused })},
			}},
		},
	}
}

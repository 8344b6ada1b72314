package main

import (
	"fmt"
	"math"
	"strings"
)

// The sections of the page, by name.
const (
	sectionRun         = "run"
	sectionCurve       = "curve"
	sectionModel       = "model"
	sectionPredictions = "predictions"
	sectionCalculation = "calculation"
)

// sectionNames are the sections in the order of the page.
func sectionNames() []string {
	return []string{sectionRun, sectionCurve, sectionModel, sectionPredictions, sectionCalculation}
}

// sectionsOf returns the text of each section.
func sectionsOf(f figures) map[string]string {
	m := newModel(f.Points)
	return map[string]string{
		sectionRun:         runText(f),
		sectionCurve:       curveText(f),
		sectionModel:       modelText(m),
		sectionPredictions: predictionsText(f, m),
		sectionCalculation: calculationText(f, m),
	}
}

func runText(f figures) string {
	day, _, _ := strings.Cut(f.Machine.Date, "T")
	return fmt.Sprintf("Measured %s at commit %s, %s, %d × %s, Redis %s, database %s; %s in turn, medians with the lowest and the highest.\n",
		day, f.Machine.Commit, f.Machine.Go, f.Machine.Processors, f.Machine.Processor, f.Machine.Redis, f.Machine.Database,
		of(len(f.Points[0].Samples), "round"))
}

func curveText(f figures) string {
	var b strings.Builder
	b.WriteString("| Buyers at once | Orders in a transaction | Purchases a second | Service, µs | Redis, µs | Database, µs | Together, µs |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range f.Points {
		if !p.isFitted() {
			continue
		}
		buyers := fmt.Sprint(p.Crowd)
		if !p.keepsUp() {
			buyers += " \\*"
		}
		fmt.Fprintf(&b, "| %s | %.0f | %s | %s | %s | %s | %s |\n", buyers, p.load().transaction(), number(p.median(accepted).median),
			micros(p.median(service)), micros(p.median(redis)), micros(p.median(database)), micros(p.median(together)))
	}
	b.WriteString("\n\\* entries wait\n")
	return b.String()
}

func modelText(m model) string {
	var b strings.Builder
	b.WriteString("| An order costs | a: by itself, µs | b: of what n share, µs | n |\n| --- | ---: | ---: | --- |\n")
	const buyers = "buyers who ask at once, for each instance and share"
	for _, row := range []struct {
		process string
		cost    line
		n       string
	}{{"the service", m.service, buyers}, {"Redis", m.redis, buyers}, {"the database", m.database, "orders in a transaction"}} {
		fmt.Fprintf(&b, "| %s | %.1f | %.0f | %s |\n", row.process, row.cost.order, row.cost.shared, row.n)
	}
	return b.String()
}

func predictionsText(f figures, m model) string {
	var b strings.Builder
	b.WriteString("| Instances | Shares | Buyers at once | Purchases a second | n: buyers, orders | Service, µs | Redis, µs | Database, µs | Together, µs |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range f.predicted() {
		l := p.load()
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %.0f, %.0f", l.instances, l.shares, p.Crowd, number(l.rate), l.call(), l.transaction())
		for _, one := range m.predictions(p) {
			fmt.Fprintf(&b, " | %.1f / %.1f: %+d %%", one.predicted, one.measured, percent(one.off()))
		}
		b.WriteString(" |\n")
	}
	for _, row := range []struct {
		what   string
		points []point
	}{{"Those with several instances or several shares", f.curves()}, {"All of them", f.predicted()}} {
		o := m.offsetsOf(row.points)
		fmt.Fprintf(&b, "\n%s are off by, from the lowest to the highest: service %s, Redis %s, database %s, together %s.\n",
			row.what, offText(o.service), offText(o.redis), offText(o.database), offText(o.together))
	}
	return b.String()
}

func calculationText(f figures, m model) string {
	if !m.offsetsOf(f.curves()).hold() {
		return fmt.Sprintf("No calculation is published: not all predictions with several instances or several shares are within %.0f %% of what was\n"+
			"measured, so nothing of larger numbers can be trusted.\n", 100*farthest)
	}
	o := m.offsetsOf(f.predicted())
	var b strings.Builder
	fmt.Fprintf(&b, "| Purchases a second | Instances of %d processors | Redis masters, with a share each | Processors of the database, to record as fast | "+
		"µs an order: service, Redis, database | n: buyers, orders |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n", perInstance)
	for _, rate := range []float64{10_000, 100_000, 1_000_000} {
		d := m.demandOf(rate)
		count := func(micros, each float64, off spread) string {
			return rangeText(between(rate*micros/1e6, busy*each, off))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f, %.1f, %.1f | %.0f, %.0f |\n", number(rate), count(d.cost.Service, perInstance, o.service),
			count(d.cost.Redis, 1, o.redis), count(d.cost.Database, 1, o.database), d.cost.Service, d.cost.Redis, d.cost.Database, d.call(), d.transaction())
	}
	fmt.Fprintf(&b, "\n%.0f %% of each processor is used, and a buyer has an answer after %d ms: that is how many ask at once. One sale has %d shares at most,\n"+
		"so one voucher can be sold about %s times a second.\n", 100*busy, answerTime.Milliseconds(), maxShares, number(m.hottest()))
	return b.String()
}

func percent(part float64) int { return int(math.Round(100 * part)) }

func offText(off spread) string {
	return fmt.Sprintf("%+d to %+d %%", percent(off.low), percent(off.high))
}

func rangeText(low, high int) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func micros(s spread) string { return fmt.Sprintf("%.1f (%.1f–%.1f)", s.median, s.low, s.high) }

// number is a whole number with commas.
func number(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// of is so many of something.
func of(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

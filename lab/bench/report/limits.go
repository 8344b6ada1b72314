package report

import (
	"fmt"
	"io"
	"strings"

	"seckill/lab/bench/result"
)

// limits are limits and curves, with the lookups that their report needs.
type limits struct {
	*result.Limits
	machine result.Machine
	plan    result.Plan
}

// bounded derives the targets from a run's limits.
func bounded(run result.Run) limits {
	l := *run.Limits
	answered := result.Target{ID: "P16", What: "share of a stampede that is answered 201, 202, 403 or 409"}
	memory := result.Target{ID: "P16", What: "memory of a connection in a stampede / with plain Gin"}
	all := l.Stampedes
	if len(all) == 0 { // an older result, without one per round
		all = []result.Stampede{l.Stampede}
	}
	for _, s := range all {
		answered.Samples = append(answered.Samples, float64(s.Accepted)/float64(max(s.Accepted+s.Failed, 1)))
		if service, plain := s.KilobytesEach(); plain > 0 {
			memory.Samples = append(memory.Samples, service/plain)
		}
	}
	l.Targets = []result.Target{atLeast(1, answered), atMost(1.3, memory)}
	return limits{&l, run.Machine, run.Plan}
}

// tables prints all tables and texts.
func (l limits) tables(w io.Writer) {
	fmt.Fprintf(w, "\nConnections that ask at the same time\n\n%s", curveTable(l.Connections, "Connections"))
	fmt.Fprintf(w, "\nVouchers on sale at once\n\n%s", curveTable(l.Sales, "Sales"))
	fmt.Fprintf(w, "\nUnits of one sale; late buyers are refused\n\n%s", curveTable(l.Stock, "Units"))
	fmt.Fprintf(w, "\n%s\n\n%s\n\n%s\n\n%s\n",
		stampedeText(l.Stampede), saleText(l.Sale), waitingText(l.Waiting), expiryTable(l.Expiry))
	printTargets(w, l.Targets)
}

func curveTable(points []result.Series, axis string) string {
	rows := [][]string{{axis, "", "Answers/s", "p50 ms", "p99 ms", "Refused", "Server MB"}}
	for _, p := range points {
		text := func(figure result.Name, digits int) string { return over(p.Figure(figure).Samples).text(digits) }
		answered, refused := sum(p.Figure(result.Answered).Samples), sum(p.Figure(result.Refused).Samples)
		rows = append(rows, []string{
			number(p.At), p.Candidate, text(result.Rate, 0), text(result.P50, 1), text(result.P99, 1),
			fmt.Sprintf("%.1f %%", 100*refused/max(1, answered+refused)), fmt.Sprintf("%.0f",
				over(p.Figure(result.ServerMemory).Samples).high),
		})
	}
	return grid(rows)
}

func sum(samples []float64) (total float64) {
	for _, s := range samples {
		total += s
	}
	return total
}

func stampedeText(s result.Stampede) string {
	text := fmt.Sprintf("%s connections (each process may have %s files open), opened within %.1f s, one "+
		"purchase on each: %s accepted, %s failed; the last answer came after %.1f s, half of them within "+
		"%.0f ms, 99 %% within %.0f ms, counted from the attempt to connect. The server's memory went from %.0f MB "+
		"to %.0f MB. Ordinary load got %s answers a second before, %s at once afterwards.",
		number(s.Connections), number(s.FileLimit), s.Opened, number(s.Accepted), number(s.Failed), s.Answered, s.P50,
		s.P99, s.Idle, s.Peak, figure(s.Before), figure(s.After))
	if service, plain := s.KilobytesEach(); plain > 0 {
		text += fmt.Sprintf(
			" A connection took %.1f KB, and %.1f KB with plain Gin in the same stampede: %.2f times as much.",
			service, plain, service/plain)
	}
	if s.FirstError != "" {
		text += " The first failure: " + s.FirstError + "."
	}
	return text
}

func saleText(s result.LongSale) string {
	return fmt.Sprintf("%s buyers, %s units: sold out after %.1f s, the last row after %.1f s, the last "+
		"of all buyers answered after %.1f s (%s answers a second, p50 %.1f ms, p99 %.1f ms). At most "+
		"%s accepted orders waited for their rows. The sale's report and the file of its orders agree with the ledger.",
		number(s.Buyers), number(s.Units), s.SoldOut, s.LastRow, s.LastAnswer, figure(s.Rate), s.P50,
		s.P99, number(s.MaxWaiting))
}

func waitingText(w result.Waiting) string {
	return fmt.Sprintf("%s buyers waited for their rows on one instance at the same time (`?wait=`), %.1f KB "+
		"of its memory each, connection and request included. Once recording could begin, on two instances, "+
		"the last row was there after %.0f ms; half of the buyers were answered after %.0f ms, 99 %% after %.0f ms, "+
		"all after %.0f ms.", number(w.Buyers), w.Kilobytes, w.LastRow, w.P50, w.P99, w.LastAnswer)
}

func expiryTable(e result.Expiry) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s overdue orders of one voucher expire, while another sale of the same "+
		"service goes on at %s purchases a second. `SECKILL_CLOSE_RATE` bounds the expiry.\n\n"+
		"| Expired at most, a second | Expired, a second | Purchases, p50 ms | p99 ms |\n| --- | --- | --- | --- |\n"+
		"| none | 0 | %.2f | %.2f |\n", number(e.Backlog), figure(e.Rate), e.Quiet.P50, e.Quiet.P99)
	for _, r := range e.Rates {
		fmt.Fprintf(&text, "| %s | %s | %.2f | %.2f |\n", number(r.Setting), figure(r.Rate), r.Sale.P50, r.Sale.P99)
	}
	return text.String()
}

func (l limits) markdown() string {
	return fmt.Sprintf("# Limits and curves, %s\n\n%s\n\nMedian of %d rounds, lowest and highest in brackets. After "+
		"each trial rows, stocks and answers were compared; they agreed.\n\n## Connections\n\n%s\n"+
		"## A stampede\n\n%s\n\n%s\n## Vouchers on sale at once\n\n%s\n## Units of a sale\n\n"+
		"Late buyers are refused, so small sales are mostly refusals.\n\n%s\n"+
		"## A long sale\n\n%s\n\n## Waiting for rows\n\n%s\n\n"+
		"## Expiry of a backlog\n\n%s\n%s\n\nAgain: `make -C lab bench WHAT=limits`. Every single figure: the JSON "+
		"file beside this one.\n",
		l.machine.Date, machineText(l.machine), l.plan.Rounds, curveTable(l.Connections, "Connections"),
		stampedeText(l.Stampede),
		targetTable(l.Targets), curveTable(l.Sales, "Sales"), curveTable(l.Stock, "Units"), saleText(l.Sale),
		waitingText(l.Waiting), expiryTable(l.Expiry), durabilityText(l.machine))
}

// sections are the limits' part of the reports' page.
func (l limits) sections(name string) map[string]string {
	return map[string]string{"limits": fmt.Sprintf("**A sale.** %s\n\n**A stampede.** %s\n\n"+
		"%s\nMore sales at once, more units, all figures: [limits and curves](%s%s.md).\n",
		saleText(l.Sale), stampedeText(l.Stampede), targetTable(l.Targets), folder, name)}
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"seckill/lab/bench/result"
)

// tables prints the comparison's tables.
func (c comparison) tables(w io.Writer) {
	fmt.Fprintf(w, "\nMedian of %d rounds of %.1f s, %d connections (lowest–highest)\n\n",
		c.plan.Rounds, c.plan.Seconds, c.plan.Connections)
	fmt.Fprintf(w, "%s\n%s\n", c.candidateTable(), c.costTable())
	printTargets(w, c.Targets)
}

func printTargets(w io.Writer, targets []result.Target) {
	for _, t := range targets {
		fmt.Fprintf(w, "%-3s  %-66s %-28s target %-12s %s\n", t.ID, t.What, targetFigure(t), goal(t), verdict(t))
	}
}

// markdown returns the comparison as a page.
func (c comparison) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Accepted and recorded orders, %s\n\n%s\n\n", c.machine.Date, machineText(c.machine))
	fmt.Fprintf(&b, "Median of %d rounds of %.1f s with %d connections, lowest and highest in "+
		"brackets. Every request is another user's, with the user's own token, and all of them are accepted "+
		"(refused, where it says sold out).\n\n", c.plan.Rounds, c.plan.Seconds, c.plan.Connections)
	b.WriteString(c.candidateTable())
	fmt.Fprintf(&b, "\n%s\n", targetTable(c.Targets))
	b.WriteString("Ratios are taken within each round. \"Recording held back\" keeps the sale's row " +
		"locked while purchases come in: that is admission alone, with a backlog to drain afterwards. " +
		"A drain that would take long is extrapolated from the speed of its first second. " +
		"Half load is half of what this service accepted in the round; requests are sent when they are " +
		"due, answered or not. After each trial rows, stocks and answers were compared; they agreed.\n\n")
	fmt.Fprintf(&b, "## Processor time\n\n%s\n%s\n", c.costTable(), c.bounds())
	fmt.Fprintf(&b, "## Every user sends four requests at once\n\n%s\n", c.contentionTable())
	fmt.Fprintf(&b, "## SIGKILL in the middle of a sale, then a new start\n\n%s\n%s\n\n",
		c.crashTable(), durabilityText(c.machine))
	var load [][]float64
	for _, s := range c.Candidates {
		load = append(load, s.Figure(result.LoadProcessors).Samples)
	}
	fmt.Fprintf(&b, "The load generator took %s of the %d processors.\n",
		over(slices.Concat(load...)).text(2), c.machine.Processors)
	b.WriteString("\nAgain: `make -C lab bench`. Every single figure: the JSON file beside this one.\n")
	return b.String()
}

// sections returns the comparison's parts of the reports' page.
func (c comparison) sections(name string) map[string]string {
	return map[string]string{
		"run": fmt.Sprintf("The figures are of %s: median of %d rounds, lowest and highest in brackets. %s "+
			"%s\n[The whole report](%s%s.md), [every single figure](%s%s.json).\n", c.machine.Date, c.plan.Rounds,
			machineText(c.machine), durabilityText(c.machine), folder, name, folder, name),
		"stages":  c.stageTable(),
		"costs":   c.bounds(),
		"targets": targetTable(c.Targets),
	}
}

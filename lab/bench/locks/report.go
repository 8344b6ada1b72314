package locks

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report has all measurements: figures[library][what] has one figure per round.
type report struct {
	Date       string                          `json:"date"`
	Go         string                          `json:"go"`
	Processors int                             `json:"processors"`
	Redis      string                          `json:"redis"`
	Turn       string                          `json:"turn"`
	Handovers  int                             `json:"handovers"`
	RoundTrip  []float64                       `json:"roundTripMicroseconds"`
	Figures    map[string]map[string][]float64 `json:"figures"`
	Costs      []string                        `json:"costs,omitempty"` // of many, as lines of the table
}

func newReport(redis string, turn time.Duration, handovers int) *report {
	return &report{
		Date: time.Now().UTC().Format(time.RFC3339), Go: runtime.Version(), Processors: runtime.NumCPU(),
		Redis: redis, Turn: turn.String(), Handovers: handovers, Figures: map[string]map[string][]float64{},
	}
}

func (r *report) add(library, what string, figure float64) {
	if r.Figures[library] == nil {
		r.Figures[library] = map[string][]float64{}
	}
	r.Figures[library][what] = append(r.Figures[library][what], figure)
}

// ratios returns, for each round, ours divided by another library's. Each library is compared on its own: the best of
// three in each round would be the one that was lucky.
func (r *report) ratios(what, library string) []float64 {
	var ratios []float64
	for round, own := range r.Figures[ours][what] {
		ratios = append(ratios, own/r.Figures[library][what][round])
	}
	return ratios
}

// roundTrips returns, for each round, the duration of a library's handover in round trips.
func (r *report) roundTrips(library string) []float64 {
	var trips []float64
	for round, own := range r.Figures[library][handoverTime] {
		trips = append(trips, own/r.RoundTrip[round])
	}
	return trips
}

// The figures in addition to the pairs per second of each scenario.
const (
	handoverTime = "handover p50 µs"
	perHandover  = "commands per handover, 64 contenders"

	processorTime = "processor time, " // and the scenario
)

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Locks, %s\n\n", r.Date)
	fmt.Fprintf(&b, "%s, %d processors, %s on the same machine; a round trip (PING after a pause, as before a\n"+
		"handover) takes %s µs.\n", r.Go, r.Processors, r.Redis, spread(r.RoundTrip, 0))
	fmt.Fprintf(&b, "Median of %d rounds, lowest and highest in brackets. In each, every library has %s for "+
		"each scenario, in %d\n"+
		"slices that take turns with those of the others, and %d handovers.\n\n",
		len(r.RoundTrip), r.Turn, slicesOfTurn, r.Handovers)
	var whats []string
	for _, s := range scenarios() {
		whats = append(whats, s.name)
	}
	whats = append(whats, handoverTime, perHandover)
	fmt.Fprintf(&b, "| | %s |\n|%s\n", strings.Join(whats, " | "), strings.Repeat(" --- |", len(whats)+1))
	for _, l := range libraries() {
		cells := make([]string, len(whats))
		for i, what := range whats {
			digits := 0
			if what == perHandover {
				digits = 1
			}
			cells[i] = spread(r.Figures[l.name][what], digits)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", l.name, strings.Join(cells, " | "))
	}
	b.WriteString("\nAll but the last two: acquire + release per second.\n\n")
	r.processorTable(&b)
	b.WriteString("\n| | | Median (low–high) | Target |\n| --- | --- | --- | --- |\n")
	for _, s := range scenarios() {
		for _, l := range libraries() {
			if l.name != ours {
				fmt.Fprintf(&b, "| P12 | %s: this package / %s | %s | ≥ 1 |\n",
					s.name, l.name, spread(r.ratios(s.name, l.name), 2))
				what := processorTime + s.name
				fmt.Fprintf(&b, "| P12 | %s%s / %s | %s | ≤ 1 |\n",
					what, ": this package", l.name, spread(r.ratios(what, l.name), 2))
			}
		}
	}
	fmt.Fprintf(&b, "| P13 | handover p50 in round trips | %s | ≤ 2.5 |\n", spread(r.roundTrips(ours), 2))
	again := "make -C lab bench WHAT=locks"
	for _, l := range past() {
		fmt.Fprintf(&b, "| P13 | the same, %s | %s | |\n", l.name, spread(r.roundTrips(l.name), 2))
		again = "make -C lab bench WHAT=locks FLAGS='-before " + strings.TrimPrefix(l.name, asItWas) + "'"
	}
	if len(r.Costs) > 0 {
		b.WriteString("\nMany of everything, in this package (the longest script is blocked Redis):\n\n" +
			"| | Scripts | Errors | Longest | Of 1 ms or more |\n| --- | --- | --- | --- | --- |\n" +
			strings.Join(r.Costs, "\n") + "\n")
	}
	b.WriteString("\nAgain: `" + again +
		"`. Every single figure: the JSON file beside this one. What each scenario is:\n" +
		"`lab/bench/locks/doc.go`; the others' settings: `lab/bench/locks/libraries.go`. Pollers do well when " +
		"contenders do nothing\n" +
		"else: the process that has just released takes the lock again while the others pause.\n")
	return b.String()
}

// processorTable prints the processor time of one acquire and release.
func (r *report) processorTable(b *strings.Builder) {
	b.WriteString("Processor time of acquire + release, of the library and Redis together, µs:\n\n|")
	for _, s := range scenarios() {
		fmt.Fprintf(b, " | %s", s.name)
	}
	fmt.Fprintf(b, " |\n|%s\n", strings.Repeat(" --- |", len(scenarios())+1))
	for _, l := range libraries() {
		fmt.Fprintf(b, "| %s", l.name)
		for _, s := range scenarios() {
			fmt.Fprintf(b, " | %s", spread(r.Figures[l.name][processorTime+s.name], 0))
		}
		b.WriteString(" |\n")
	}
}

// spread prints median, lowest and highest.
func spread(figures []float64, digits int) string {
	if len(figures) == 0 {
		return "–"
	}
	sorted := slices.Sorted(slices.Values(figures))
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, sorted[len(sorted)/2], digits, sorted[0],
		digits, sorted[len(sorted)-1])
}

// write writes file.json and file.md.
func (r *report) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".json", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(file+".md", []byte(r.markdown()), 0o644)
}

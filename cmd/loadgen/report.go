package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"seckill/internal/checker"
)

// report is the result of a rehearsal.
type report struct {
	checker.Report
	Settings    settings `json:"settings"`
	Voucher     int64    `json:"voucher"`
	Buyers      int64    `json:"buyers"` // buyers who arrived
	Requests    int      `json:"requests"`
	Took        float64  `json:"seconds"`
	SoldOut     float64  `json:"soldOutSeconds,omitempty"` // after the first buyer; 0: not sold out
	Answers     []count  `json:"answers"`
	FromDue     latency  `json:"fromDue"`  // measured from when a request was due
	FromSent    latency  `json:"fromSent"` // measured from when it was sent
	Timeline    []second `json:"timeline"` // one entry per second
	Interrupted bool     `json:"interrupted"`
	observed
}

// settings are the parameters that the results depend on.
type settings struct {
	Curve       string  `json:"curve"`
	Duration    float64 `json:"durationSeconds"`
	Connections int     `json:"connections"`
	Retry       int     `json:"retry"`
	Wait        float64 `json:"waitSeconds"`
	Think       float64 `json:"thinkSeconds"`
	Seed        uint64  `json:"seed"`
}

// count is how often a kind of answer came.
type count struct {
	Outcome string `json:"verdict"`
	Code    string `json:"code,omitempty"`
	Count   int    `json:"count"`
}

func (c count) name() string { return strings.TrimSpace(c.Outcome + " " + c.Code) }

// latency is a distribution of latencies, in milliseconds.
type latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

func newLatency(h *hdrhistogram.Histogram) latency {
	at := func(percent float64) float64 { return float64(h.ValueAtQuantile(percent)) / 1000 }
	return latency{at(50), at(90), at(99), at(99.9), float64(h.Max()) / 1000}
}

func (l latency) String() string {
	return fmt.Sprintf("p50 %s  p90 %s  p99 %s  p99.9 %s  max %s", ms(l.P50), ms(l.P90),
		ms(l.P99), ms(l.P999), ms(l.Max))
}

func ms(v float64) string { return fmt.Sprintf("%.1f ms", v) }

// newReport returns the report of a finished load, without the verification.
func newReport(p *plan, v voucher, l *load, r *record, took time.Duration) *report {
	return &report{
		Settings: settings{
			p.curve.name, p.duration.Seconds(), p.connections, p.retry, p.wait.Seconds(), p.think.Seconds(), p.seed,
		},
		Voucher: v.ID, Buyers: l.arrived.Load(), Requests: r.answered, Took: took.Seconds(),
		SoldOut: r.soldOut.Seconds(),
		Answers: r.counts(), FromDue: newLatency(r.fromDue), FromSent: newLatency(r.fromSent), Timeline: r.seconds,
	}
}

// counts returns how often each kind of answer came, the most frequent first. Do not add answers meanwhile.
func (r *record) counts() (list []count) {
	for o, n := range r.count {
		list = append(list, count{o.outcome.String(), r.codes[o.code], n})
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.name(), b.name()))
	})
	return list
}

// maxPrinted is how many findings are printed at most.
const maxPrinted = 10

// print writes the report for people.
func (r *report) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d buyers came within %.1f s and sent %d requests, %.0f a second.\n",
		r.Buyers, r.Took, r.Requests, float64(r.Requests)/max(r.Took, 1e-3))
	if r.SoldOut > 0 {
		fmt.Fprintf(&b, "Sold out after %.2f s.\n", r.SoldOut)
	}
	for _, c := range r.Answers {
		fmt.Fprintf(&b, "  %9d  %s\n", c.Count, c.name())
	}
	fmt.Fprintf(&b, "Latency from due    %s\n", r.FromDue)
	fmt.Fprintf(&b, "        from sent   %s\n", r.FromSent)
	changed := ""
	if r.Added != 0 {
		changed = fmt.Sprintf(" (%+d meanwhile)", r.Added)
	}
	fmt.Fprintf(&b, "Voucher %d: %d units issued%s, %d live orders, %d shown as left; %d orders found by their "+
		"owners, %d in the list of all.\n",
		r.Voucher, r.Issued, changed, r.Live, r.Stock, r.Owners, r.Listed)
	if len(r.Undecided) > 0 {
		b.WriteString("Not checked, or impossible to decide from here:\n")
		for _, g := range r.Undecided {
			fmt.Fprintf(&b, "  %s\n", g)
		}
	}
	r.writeVerdict(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeVerdict writes whether the sale was correct, and the findings.
func (r *report) writeVerdict(b *strings.Builder) {
	if r.Interrupted {
		b.WriteString("Ended early; what was done until then was verified.\n")
	}
	if r.Total == 0 {
		b.WriteString("VERIFIED: nothing lost, nothing sold twice.\n")
		return
	}
	findings := "findings"
	if r.Total == 1 {
		findings = "finding"
	}
	fmt.Fprintf(b, "WRONG: %d %s", r.Total, findings)
	if r.Total > maxPrinted {
		fmt.Fprintf(b, ", the first %d", min(maxPrinted, len(r.Findings)))
	}
	b.WriteString(":\n")
	for _, f := range r.Findings[:min(maxPrinted, len(r.Findings))] {
		fmt.Fprintf(b, "  %s\n", f)
		for _, line := range f.History {
			fmt.Fprintf(b, "      %s\n", line)
		}
	}
}

// writeJSON writes the report for programs.
func (r *report) writeJSON(name string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644) //nolint:gosec // a report is public
}

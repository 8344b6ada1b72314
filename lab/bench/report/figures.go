package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// spread is a figure over all rounds.
type spread struct{ median, low, high float64 }

// over returns the spread of samples; the zero spread if nothing was measured. A sample of 0 counts as not measured.
func over(samples []float64) spread {
	measured := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return v <= 0 })
	n := len(measured)
	if n == 0 {
		return spread{}
	}
	slices.Sort(measured)
	return spread{median: (measured[(n-1)/2] + measured[n/2]) / 2, low: measured[0], high: measured[n-1]}
}

// text returns a figure with its spread; a dash if it was not measured.
func (s spread) text(digits int) string {
	if s == (spread{}) {
		return "–"
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.median, digits, s.low, digits, s.high)
}

// whole returns the median, rounded; "" if it was not measured.
func (s spread) whole() string {
	if s == (spread{}) {
		return ""
	}
	return figure(s.median)
}

// comparison is a comparison, with the lookups that its report needs.
type comparison struct {
	*result.Comparison
	machine result.Machine
	plan    result.Plan
}

// samples returns a candidate's samples of a figure; none if it was not measured.
func (c comparison) samples(name string, figure result.Name) []float64 {
	for _, s := range c.Candidates {
		if s.Candidate == name {
			return s.Figure(figure).Samples
		}
	}
	return nil
}

func (c comparison) spread(name string, figure result.Name) spread {
	return over(c.samples(name, figure))
}

// totalTime returns the processor time of an answer over all processes, in microseconds.
func (c comparison) totalTime(name string) spread { return over(c.totalTimes(name)) }

// totalTimes returns the same, round by round.
func (c comparison) totalTimes(name string) []float64 {
	var total []float64
	for _, process := range []result.Name{result.LoadTime, result.ServerTime, result.RedisTime, result.DatabaseTime} {
		for i, v := range c.samples(name, process) {
			if i >= len(total) {
				total = append(total, make([]float64, i+1-len(total))...)
			}
			total[i] += v
		}
	}
	return total
}

// floors returns, round by round, the processor time, in microseconds, below which no purchase can be answered and
// recorded: plain Gin and its load, one HMAC, one buyer in the raw script, one row of the raw insert. It is empty if a
// part was not measured.
func (c comparison) floors() []float64 {
	parts := [][]float64{
		c.totalTimes(candidate.Gin), c.totalTimes(candidate.HMAC),
		c.samples(candidate.RawScripts, result.RedisTime), c.samples(candidate.RawInsert, result.DatabaseTime),
	}
	var floors []float64
	for i := range parts[0] {
		var sum float64
		for _, part := range parts {
			if i >= len(part) || part[i] == 0 {
				return nil
			}
			sum += part[i]
		}
		floors = append(floors, sum)
	}
	return floors
}

// grid formats rows as a Markdown table that is readable as text; the first row is the head.
func grid(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for j, cell := range row {
			fmt.Fprintf(&b, "| %-*s ", widths[j], cell)
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, n := range widths {
				b.WriteString("| " + strings.Repeat("-", n) + " ")
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// figure formats a figure with separated thousands: 1,234,567; with decimals, if any, below ten.
func figure(v float64) string {
	if math.Abs(v) < 10 && v != math.Trunc(v) {
		return fmt.Sprintf("%.2g", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

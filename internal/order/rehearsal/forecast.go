package rehearsal

import (
	"fmt"
	"time"
)

// What a rehearsal must not exceed for a go.
const (
	maxP99 = 2 * time.Second
	// maxUnclear is the share of requests without a clear answer.
	maxUnclear = 0.01
	// maxMemory is the share of Redis's memory that may be used.
	maxMemory = 0.8
)

// Figures are what a rehearsal has measured.
type Figures struct {
	Stock    int64
	Buyers   int64
	Requests int64
	Accepted int64
	Unclear  int64 // requests whose answer was 429, 5xx, or none

	SoldOut    time.Duration // from the first request to the last unit, to the second; 0: units are left
	P50, P99   time.Duration // of an answer, from when its request was due
	Findings   int           // of the checker: orders that were lost, sold twice, and the like
	Early      bool          // it was interrupted
	MemoryIdle int64         // bytes of Redis before the crowd
	MemoryPeak int64         // and at most
	MemoryMax  int64         // its maxmemory; 0: none
}

// Forecast says what the sale is likely to be, and whether it should be held.
type Forecast struct {
	Lines []string
	NoGo  []string // why not; empty: go
}

// Forecast reads the figures: the sale will be as the rehearsal was, if its crowd is as large.
func (f Figures) Forecast() Forecast {
	var out Forecast
	out.add("sold out", f.soldOut())
	out.add("answers", fmt.Sprintf("p50 %s, p99 %s from when a buyer presses", ms(f.P50), ms(f.P99)))
	out.add("Redis", f.memory())
	out.refuse(f.Early, "the rehearsal was ended early")
	out.refuse(f.Findings > 0, fmt.Sprintf("%d findings: orders and answers contradict each other", f.Findings))
	out.refuse(f.SoldOut == 0 && f.Buyers >= f.Stock && !f.Early, fmt.Sprintf("%d units were left, though %d buyers came", f.Stock-f.Accepted, f.Buyers))
	out.refuse(f.P99 > maxP99, fmt.Sprintf("one buyer in a hundred waits for more than %s", maxP99))
	out.refuse(float64(f.Unclear) > maxUnclear*float64(f.Requests), fmt.Sprintf("%.1f %% of the requests had no clear answer", 100*float64(f.Unclear)/float64(max(1, f.Requests))))
	out.refuse(f.MemoryMax > 0 && float64(f.MemoryPeak) > maxMemory*float64(f.MemoryMax),
		fmt.Sprintf("Redis came to %.0f %% of its maxmemory", 100*float64(f.MemoryPeak)/float64(max(1, f.MemoryMax))))
	return out
}

func (o *Forecast) add(what, text string) {
	o.Lines = append(o.Lines, fmt.Sprintf("%-9s %s", what, text))
}

func (o *Forecast) refuse(is bool, why string) {
	if is {
		o.NoGo = append(o.NoGo, why)
	}
}

func (f Figures) soldOut() string {
	if f.SoldOut == 0 {
		return fmt.Sprintf("no: %d of %d units went to %d buyers", f.Accepted, f.Stock, f.Buyers)
	}
	return fmt.Sprintf("%d units within %s of the first press, by %d buyers", f.Stock, f.SoldOut, f.Buyers)
}

func (f Figures) memory() string {
	const mib = 1 << 20
	text := fmt.Sprintf("%.1f MiB more at the peak, %.1f in all", float64(f.MemoryPeak-f.MemoryIdle)/mib, float64(f.MemoryPeak)/mib)
	if f.MemoryMax == 0 {
		return text + "; it has no maxmemory, so nothing says when it is full"
	}
	return text + fmt.Sprintf(" of %.0f (%.0f %%)", float64(f.MemoryMax)/mib, 100*float64(f.MemoryPeak)/float64(f.MemoryMax))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond)) }

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	refresh  = 250 * time.Millisecond // between redraws of a terminal's block
	interval = 3 * time.Second        // between lines of a log
)

// display shows the progress: on a terminal as a block that is redrawn, elsewhere as a line at intervals.
type display struct {
	out      io.Writer
	terminal bool
	load     *load
}

// run shows the progress until the load is over.
func (d display) run(over <-chan struct{}) {
	every := interval
	if d.terminal {
		every = refresh
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	lines, sent, at := 0, 0, d.load.began
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-ticker.C:
		}
		now := d.snapshot()
		rate := float64(now.sent-sent) / max(now.at.Sub(at).Seconds(), 1e-3)
		sent, at = now.sent, now.at
		if d.terminal {
			if lines > 0 {
				_, _ = fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", lines) // move up and clear the rest
			}
			block := now.block(rate)
			lines = strings.Count(block, "\n")
			_, _ = io.WriteString(d.out, block)
		} else {
			_, _ = fmt.Fprintln(d.out, now.line(rate))
		}
	}
}

// snapshot is the state of the load at one moment.
type snapshot struct {
	at              time.Time
	since, duration time.Duration
	arrived, buyers int64
	sent            int
	inFlight        int64
	late            time.Duration
	counts          []count
	fromDue         latency
}

// snapshot reads the current state of the load.
func (d display) snapshot() snapshot {
	l, r := d.load, d.load.record
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	return snapshot{
		at: now, since: now.Sub(l.began), duration: l.plan.duration,
		arrived: l.arrived.Load(), buyers: int64(l.plan.buyers),
		sent: r.sent, inFlight: l.inFlight.Load(), late: r.late, counts: r.counts(), fromDue: newLatency(r.fromDue),
	}
}

// line formats the state as one line.
func (s snapshot) line(rate float64) string {
	answers := make([]string, len(s.counts))
	for i, c := range s.counts {
		answers[i] = fmt.Sprintf("%s %d", c.name(), c.Count)
	}
	return fmt.Sprintf("%5.1fs  sent %d (%.0f/s)  in flight %d  late %s  p50 %s  p99 %s  %s",
		s.since.Seconds(), s.sent, rate, s.inFlight, s.late.Round(time.Millisecond), ms(s.fromDue.P50),
		ms(s.fromDue.P99), strings.Join(answers, ", "))
}

// block formats the state as several lines.
func (s snapshot) block(rate float64) string {
	const most = 8 // kinds of answers shown
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1f s of %v   %d of %d buyers have come\n",
		s.since.Seconds(), s.duration.Round(time.Second/10), s.arrived, s.buyers)
	fmt.Fprintf(&b, "  sent %d, %.0f a second   in flight %d   late %v\n",
		s.sent, rate, s.inFlight, s.late.Round(time.Millisecond))
	fmt.Fprintf(&b, "  %s\n", s.fromDue)
	for i, c := range s.counts {
		if i == most {
			fmt.Fprintf(&b, "  and %d other kinds of answers\n", len(s.counts)-most)
			break
		}
		fmt.Fprintf(&b, "  %9d  %s\n", c.Count, c.name())
	}
	return b.String()
}

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	refresh  = 250 * time.Millisecond // of the block on a terminal
	interval = 3 * time.Second        // between lines elsewhere
)

// display shows how the rush goes: one block that is drawn anew on a terminal, a line now and then elsewhere.
type display struct {
	out      io.Writer
	terminal bool
	crowd    *crowd
}

// run shows until the rush is over.
func (d display) run(over <-chan struct{}) {
	every := interval
	if d.terminal {
		every = refresh
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	lines, sent, at := 0, 0, d.crowd.began
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-ticker.C:
		}
		now := d.look()
		rate := float64(now.sent-sent) / max(now.at.Sub(at).Seconds(), 1e-3)
		sent, at = now.sent, now.at
		if d.terminal {
			if lines > 0 {
				_, _ = fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", lines) // up, and clear from there
			}
			block := now.block(rate)
			lines = strings.Count(block, "\n")
			_, _ = io.WriteString(d.out, block)
		} else {
			_, _ = fmt.Fprintln(d.out, now.line(rate))
		}
	}
}

// moment is the state of the rush at one time.
type moment struct {
	at              time.Time
	since, duration time.Duration
	arrived, buyers int64
	sent            int
	inFlight        int64
	late            time.Duration
	answers         []tally
	fromDue         latency
}

// look reads the state of the rush.
func (d display) look() moment {
	c, r := d.crowd, d.crowd.record
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	return moment{
		at: now, since: now.Sub(c.began), duration: c.plan.duration,
		arrived: c.arrived.Load(), buyers: int64(c.plan.buyers),
		sent: r.sent, inFlight: c.inFlight.Load(), late: r.late, answers: r.tallies(), fromDue: newLatency(r.fromDue),
	}
}

// line is the state in one line.
func (m moment) line(rate float64) string {
	answers := make([]string, len(m.answers))
	for i, t := range m.answers {
		answers[i] = fmt.Sprintf("%s %d", t.name(), t.Count)
	}
	return fmt.Sprintf("%5.1fs  sent %d (%.0f/s)  in flight %d  late %s  p50 %s  p99 %s  %s",
		m.since.Seconds(), m.sent, rate, m.inFlight, m.late.Round(time.Millisecond), ms(m.fromDue.P50), ms(m.fromDue.P99),
		strings.Join(answers, ", "))
}

// block is the state in several lines.
func (m moment) block(rate float64) string {
	const most = 8 // kinds of answers
	var b strings.Builder
	fmt.Fprintf(&b, "%6.1f s of %v   %d of %d buyers have come\n", m.since.Seconds(), m.duration.Round(time.Second/10), m.arrived, m.buyers)
	fmt.Fprintf(&b, "  sent %d, %.0f a second   in flight %d   late %v\n", m.sent, rate, m.inFlight, m.late.Round(time.Millisecond))
	fmt.Fprintf(&b, "  %s\n", m.fromDue)
	for i, t := range m.answers {
		if i == most {
			fmt.Fprintf(&b, "  and %d other kinds of answers\n", len(m.answers)-most)
			break
		}
		fmt.Fprintf(&b, "  %9d  %s\n", t.Count, t.name())
	}
	return b.String()
}

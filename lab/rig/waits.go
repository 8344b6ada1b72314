package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/lab/load"
)

// others stands for all processes outside of the benchmark.
const others = "others"

// Waits says how long the threads of each process waited for a processor while they were ready to run, and how long
// they then ran, according to perf.
type Waits struct {
	Problem string // why there are no figures; "" if there are
	Of      map[string]*ProcessWaits
}

// ProcessWaits are the waits of one process.
type ProcessWaits struct {
	Delays []uint32      // in microseconds, one for each time that a thread got a processor
	Ran    time.Duration // sum over all threads
}

// RecordWaits lets perf record the scheduler for a while, into a file for "perf sched". Without perf, or without the
// right to trace the kernel, the result says so, and there is no error.
func RecordWaits(ctx context.Context, path string, during time.Duration, p Processes) (Waits, error) {
	seconds := strconv.FormatFloat(during.Seconds(), 'f', 3, 64)
	if out, err := exec.CommandContext(ctx, "perf", "sched", "record", "-a", "-o", path, "--", "sleep",
		seconds).CombinedOutput(); err != nil {
		return Waits{Problem: fmt.Sprintf("perf sched record: %v: %.200s", err, bytes.TrimSpace(out))}, ctx.Err()
	}
	out, err := exec.CommandContext(ctx, "perf", "sched", "timehist", "-i", path).Output()
	if err != nil {
		return Waits{Problem: fmt.Sprintf("perf sched timehist: %v", err)}, ctx.Err()
	}
	return parseWaits(out, p.names()), nil
}

// parseWaits reads the output of "perf sched timehist": one line for each time that a thread left a processor. A line
// ends with the thread's name, its ids in brackets, and three times in milliseconds: how long it slept before, waited
// for a processor, and ran.
func parseWaits(timehist []byte, names map[int]string) Waits {
	w := Waits{Of: map[string]*ProcessWaits{}}
	lines := bufio.NewScanner(bytes.NewReader(timehist))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			continue
		}
		delay, errDelay := strconv.ParseFloat(fields[len(fields)-2], 64)
		ran, errRan := strconv.ParseFloat(fields[len(fields)-1], 64)
		task := fields[len(fields)-4]
		if errDelay != nil || errRan != nil || !strings.HasSuffix(task, "]") {
			continue // a heading, or <idle>
		}
		name, ours := names[processOf(task)]
		if !ours {
			name = others
		}
		if w.Of[name] == nil {
			w.Of[name] = &ProcessWaits{}
		}
		w.Of[name].Delays = append(w.Of[name].Delays, uint32(delay*1000))
		w.Of[name].Ran += time.Duration(ran * float64(time.Millisecond))
	}
	return w
}

// processOf returns the process of a task, name[thread/process] or name[process]; 0 for <idle>.
func processOf(task string) int {
	ids := strings.TrimSuffix(task[strings.LastIndexByte(task, '[')+1:], "]")
	if _, process, several := strings.Cut(ids, "/"); several {
		ids = process
	}
	pid, _ := strconv.Atoi(ids) // <idle> has no id
	return pid
}

// names returns the processes' names by their ids.
func (p Processes) names() map[int]string {
	names := map[int]string{p.redis: "Redis", p.database: "database", os.Getpid(): "load generator"}
	for _, server := range p.servers {
		names[server] = "service"
	}
	delete(names, 0) // on another machine
	return names
}

// Table shows the waits of each process per answer.
func (w Waits) Table(answers float64) string {
	if w.Problem != "" {
		return "no figures of the scheduler: " + w.Problem + "\n"
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%-16s %14s %14s %14s %10s %10s %10s\n", "", "µs an answer", "waits, µs", "switches",
		"wait p50", "p99", "max, µs")
	for _, name := range slices.Sorted(maps.Keys(w.Of)) {
		p := w.Of[name]
		var sum float64
		for _, d := range p.Delays {
			sum += float64(d)
		}
		fmt.Fprintf(&t, "%-16s %14.1f %14.1f %14.2f %10d %10d %10d\n", name, float64(p.Ran.Microseconds())/answers,
			sum/answers, float64(len(p.Delays))/answers, load.Percentile(p.Delays, 0.5).Microseconds(),
			load.Percentile(p.Delays, 0.99).Microseconds(), load.Percentile(p.Delays, 1).Microseconds())
	}
	return t.String()
}

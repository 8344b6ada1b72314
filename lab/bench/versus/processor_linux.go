package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is how long a process and all its threads, also those that have ended, have kept processors busy. The
// kernel counts nanoseconds; /proc/<pid>/stat rounds them to hundredths of a second.
func processorTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED; the clock's number is that of clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

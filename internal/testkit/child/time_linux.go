package child

import (
	"time"

	"golang.org/x/sys/unix"
)

// TimeOf returns the CPU time of a process and all its threads, including ended ones; 0 for a process that has ended.
// It uses the kernel's nanosecond clock, because /proc/<pid>/stat rounds to hundredths of a second.
func TimeOf(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED; the clock's number is that of clock_getcpuclockid(3)
	var t unix.Timespec
	if pid == 0 || unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

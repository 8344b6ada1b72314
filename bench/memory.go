package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memory is how many megabytes the process has in memory now.
func (c *child) memory() (float64, error) { return c.status("VmRSS") }

// peakMemory is how many it had at most since it started.
func (c *child) peakMemory() (float64, error) { return c.status("VmHWM") }

// status reads a line of /proc/PID/status, kilobytes there, megabytes here.
func (c *child) status(name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	value, _, _ := strings.Cut(rest, " kB")
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0, fmt.Errorf("%s of the process: %w", name, err)
	}
	return kilobytes / 1024, nil
}

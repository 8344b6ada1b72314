package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory returns the process's resident memory now, in megabytes.
func (c *Child) Memory() (float64, error) { return c.status("VmRSS") }

// PeakMemory returns the highest resident memory since the process started, in megabytes.
func (c *Child) PeakMemory() (float64, error) { return c.status("VmHWM") }

// status reads a line of /proc/PID/status, which is in kilobytes, and returns megabytes.
func (c *Child) status(name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
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

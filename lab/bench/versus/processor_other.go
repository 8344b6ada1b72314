//go:build !linux

package main

import (
	"errors"
	"time"
)

// processorTime cannot be had of other processes here.
func processorTime(int) (time.Duration, error) {
	return 0, errors.New("processor time of other processes is only known on Linux")
}

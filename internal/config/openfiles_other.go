//go:build !unix

package config

import "math"

// openFiles returns how many descriptors the process may have: on this system, no limit is known.
func openFiles() int { return math.MaxInt32 }

package checklist

import (
	"slices"
	"time"
)

// samples is how often a store is asked, so that a single slow answer does not matter.
const samples = 11

// median calls f samples times, and returns its median duration or its first error.
func median(f func() error) (time.Duration, error) {
	took := make([]time.Duration, samples)
	for i := range took {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[samples/2], nil
}

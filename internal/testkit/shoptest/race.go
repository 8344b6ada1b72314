//go:build race

package shoptest

// RaceAllocs is what the race detector adds to counts of allocations: it makes sync.Pool forget now and then.
const RaceAllocs = 4

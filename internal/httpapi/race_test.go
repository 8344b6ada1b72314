//go:build race

package httpapi

// raceAllocs is what the race detector adds to counts of allocations: it makes sync.Pool forget now and then.
const raceAllocs = 4

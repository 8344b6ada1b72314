//go:build !race

package httpapi

// raceAllocs is what the race detector adds to counts of allocations.
const raceAllocs = 0

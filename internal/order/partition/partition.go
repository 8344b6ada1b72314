package partition

import (
	"errors"
	"slices"
	"time"
)

// Max is how many partitions there can be, removed ones included.
const Max = 32

// Missing returns the partitions from 0 to n - 1 that have never existed. Closed and removed partitions have existed.
func Missing(all []Partition, n int) (missing []int) {
	for number := range n {
		if number > 0 && !slices.ContainsFunc(all, func(p Partition) bool { return p.Number == number }) {
			missing = append(missing, number)
		}
	}
	return missing
}

// State is a partition's state.
type State string

// The states of a partition, as the ledger has them.
const (
	Open    State = "open"    // new sales may be placed there
	Closed  State = "closed"  // sales there go on, and none is added
	Removed State = "removed" // it is empty, and no instance works there any more
)

// Partition is one partition.
type Partition struct {
	Number int
	State  State
	Since  time.Time // when it got its state, by the ledger's clock; zero for a partition 0 that was never closed
}

// Errors of changes.
var (
	// ErrUnknown says that there is no such partition.
	ErrUnknown = errors.New("no such partition")
	// ErrState says that a partition's state does not allow the change.
	ErrState = errors.New("the partition's state does not allow it")
	// ErrNotEmpty says that a partition cannot be removed because it is not empty.
	ErrNotEmpty = errors.New("the partition is not empty")
	// ErrFormat says that a partition's data in Redis has another format, or belongs to another installation. That data
	// is left alone.
	ErrFormat = errors.New("the partition has other data")
)

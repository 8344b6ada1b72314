package partition

import (
	"errors"
	"slices"
	"time"
)

// Max is how many partitions there can be, removed ones included.
const Max = 32

// Missing returns which of the partitions 0 to n - 1 never were: not one that was closed or removed.
func Missing(all []Partition, n int) (missing []int) {
	for number := range n {
		if number > 0 && !slices.ContainsFunc(all, func(p Partition) bool { return p.Number == number }) {
			missing = append(missing, number)
		}
	}
	return missing
}

// State is what may be done with a partition.
type State string

// The states of a partition, as the ledger has them.
const (
	Open    State = "open"    // new sales may be placed there
	Closed  State = "closed"  // sales there go on, and none is added
	Removed State = "removed" // there is nothing in it, and nobody looks there any more
)

// Partition is one of them.
type Partition struct {
	Number int
	State  State
	Since  time.Time // when it got its state, by the ledger's clock; zero for partition 0 while it is as it always was
}

// Errors of changes.
var (
	// ErrUnknown says that there is no such partition.
	ErrUnknown = errors.New("no such partition")
	// ErrState says that a partition's state does not allow the change.
	ErrState = errors.New("the partition's state does not allow it")
	// ErrNotEmpty says that there is something in a partition that is to be removed.
	ErrNotEmpty = errors.New("the partition is not empty")
	// ErrFormat says that what Redis has in a partition is of another format, or of another installation. It is left
	// alone.
	ErrFormat = errors.New("the partition has other data")
)

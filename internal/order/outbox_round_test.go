package order

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Takes of which the outcome is forgotten have no result: what follows them must not be told of their orders.
func TestFollowTellsByNumber(t *testing.T) {
	t.Parallel()
	ops := newFakeOperations(0)
	p := newOutbox(t, ops)
	p.outbox.tell([]Operation{
		{Number: 4, Kind: Revival, Delta: -1, OrderID: 54},
		{Number: 5, Kind: Revival, Delta: -1, OrderID: 55},
		{Number: 6, Kind: Revival, Delta: -1, OrderID: 56},
		{Number: 7, Kind: Cancellation, Delta: 1, OrderID: 57},
	}, []OperationResult{{Number: 5, Taken: true}, {Number: 6}, {Number: 7, Taken: true}})
	if diff := cmp.Diff(map[int64]Status{55: Paid}, p.asked.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

package partition

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// fakeAdmin is a ledger and a Redis whose partitions can be changed.
type fakeAdmin struct {
	fakeService

	waiting map[int]Waiting
	created int // sales that were created after they were counted
}

func (f *fakeAdmin) WaitingIn(_ context.Context, n int) (Waiting, error) {
	if f.works[n] == nil {
		return Waiting{}, errors.New("away")
	}
	return f.waiting[n], nil
}

func (f *fakeAdmin) ChangePartition(_ context.Context, number int, from, to State) error {
	i := slices.IndexFunc(f.all, func(p Partition) bool { return p.Number == number })
	switch {
	case i < 0:
		return ErrUnknown
	case f.all[i].State != from, to == Closed && slices.Equal(openOnes(f.all), []int{number}):
		return ErrState
	case to == Removed && f.created > 0:
		return ErrNotEmpty
	}
	f.all[i].State = to
	return nil
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	here := map[int][]string{0: {"a"}, 1: {"a"}, 2: {"a"}}
	for name, tc := range map[string]struct {
		states  []State // of partitions 0, 1, …
		sales   map[int]int
		waiting map[int]Waiting
		works   map[int][]string
		created int
		do      func(*Admin, context.Context, int) error
		to      int
		err     error
		text    string
		want    []State // the states afterwards; nil: unchanged
	}{
		"closed": {
			states: []State{Open, Open}, do: (*Admin).Close, to: 1, want: []State{Open, Closed},
		},
		"the last open partition is not closed": {states: []State{Open, Closed}, do: (*Admin).Close, err: ErrState},
		"opened again": {
			states: []State{Open, Closed}, do: (*Admin).Open, to: 1, want: []State{Open, Open},
		},
		"a removed partition stays removed": {states: []State{Open, Removed}, do: (*Admin).Open, to: 1, err: ErrState},
		"removed": {states: []State{Open, Closed}, sales: map[int]int{
			0: 3,
		}, works: here, do: (*Admin).Remove, to: 1, want: []State{Open, Removed}},
		"partition 0 is not removed": {
			states: []State{Closed, Open}, works: here, do: (*Admin).Remove, err: ErrState, text: "no sale",
		},
		"an open partition is not removed": {
			states: []State{Open, Open}, works: here, do: (*Admin).Remove, to: 1, err: ErrState,
		},
		"a sale was created meanwhile": {
			states: []State{Open, Closed}, works: here, created: 1, do: (*Admin).Remove, to: 1, err: ErrNotEmpty,
		},
		"an unknown partition": {
			states: []State{Open, Closed}, works: here, do: (*Admin).Remove, to: 2, err: ErrUnknown,
		},
		"with a sale": {states: []State{Open, Closed}, sales: map[int]int{
			1: 2,
		}, works: here, do: (*Admin).Remove, to: 1, err: ErrNotEmpty, text: "2 sales"},
		"with an order": {states: []State{Open, Closed}, waiting: map[int]Waiting{
			1: {Orders: 4},
		}, works: here, do: (*Admin).Remove, to: 1, err: ErrNotEmpty, text: "4 entries"},
		"with a dead letter": {states: []State{Open, Closed}, waiting: map[int]Waiting{
			1: {DeadLetters: 1},
		}, works: here, do: (*Admin).Remove, to: 1, err: ErrNotEmpty, text: "1 dead"},
		"its Redis does not answer": {
			states: []State{Open, Closed}, works: map[int][]string{0: {"a"}}, do: (*Admin).Remove,
			to: 1, text: "not known",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeAdmin{
				fakeService: fakeService{sales: tc.sales, works: tc.works}, waiting: tc.waiting, created: tc.created,
			}
			for n, s := range tc.states {
				f.all = append(f.all, Partition{Number: n, State: s})
			}
			err := tc.do(NewAdmin(f, f), t.Context(), tc.to)
			if (err != nil) != (tc.err != nil || tc.text != "") || tc.err != nil && !errors.Is(err, tc.err) ||
				err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v, want %v with %q", err, tc.err, tc.text)
			}
			want := tc.want
			if want == nil {
				want = tc.states
			}
			for n, s := range want {
				if f.all[n].State != s {
					t.Errorf("partition %d is %s, want %s", n, f.all[n].State, s)
				}
			}
		})
	}
}

// The contents of the other partitions are listed when the Redis of one does not answer.
func TestListPartitions(t *testing.T) {
	t.Parallel()
	f := &fakeAdmin{
		fakeService: fakeService{
			sales: map[int]int{0: 3, 1: 2}, works: map[int][]string{0: {"a:9 reads", "b"}, 3: {"b"}},
		},
		waiting: map[int]Waiting{0: {Orders: 7, Node: "a:1"}},
	}
	f.all = []Partition{
		{Number: 0, State: Open}, {Number: 1, State: Closed}, {Number: 2, State: Removed}, {Number: 3, State: Open},
	}
	all, err := NewAdmin(f, f).List(t.Context())
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	if c := all[0]; c.Sales != 3 || c.Waiting.Orders != 7 || c.Instances != 2 || c.Away != nil || c.Missing != nil {
		t.Errorf("partition 0: %+v", c)
	}
	if c := all[3]; c.Instances != 1 || !slices.Equal(c.Missing, []string{"a"}) {
		t.Errorf("partition 3, where instance a does not work: %+v", c)
	}
	if c := all[1]; c.Sales != 2 || c.Away == nil || c.Missing != nil {
		t.Errorf("partition 1: %+v", c)
	}
	if c := all[2]; c.State != Removed || c.Away != nil {
		t.Errorf("partition 2: %+v", c)
	}
}

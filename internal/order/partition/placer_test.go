package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// fakeService is a ledger with sales, and instances that work in partitions.
type fakeService struct {
	fakeLedger

	sales map[int]int
	works map[int][]string // nil: the partition does not answer
	other int              // the partition with another installation's data; 0: none
}

func (f *fakeService) SalesIn(context.Context) (map[int]int, error) { return f.sales, nil }

func (f *fakeService) InstancesIn(_ context.Context, n int) ([]string, error) {
	switch {
	case f.other > 0 && n == f.other:
		return nil, fmt.Errorf("reading: %w", ErrFormat)
	case f.works[n] == nil:
		return nil, errors.New("away")
	}
	return f.works[n], nil
}

func TestPlace(t *testing.T) {
	t.Parallel()
	number := func(n int64) *int64 { return &n }
	both := []string{"a", "b"}
	four := func(zero State) []Partition {
		return []Partition{{Number: 0, State: zero}, {Number: 1, State: Open}, {Number: 2, State: Closed}, {
			Number: 3, State: Open,
		}, {Number: 4, State: Removed}}
	}
	for name, tc := range map[string]struct {
		all    []Partition
		sales  map[int]int
		works  map[int][]string
		other  int
		wanted *int64
		want   int
		err    error
		text   string // in the error
	}{
		"one, and Redis is away": {all: []Partition{{State: Open}}, want: 0},
		"the emptiest": {
			all: four(Open), sales: map[int]int{0: 2, 1: 1, 3: 2},
			works: map[int][]string{0: both, 1: both, 3: both}, want: 1,
		},
		"of equally full ones the first": {
			all: four(Open), sales: map[int]int{0: 2, 1: 1, 3: 1},
			works: map[int][]string{0: both, 1: both, 3: both}, want: 1,
		},
		"not where it is closed": {
			all: four(Open), sales: map[int]int{0: 2, 1: 2, 2: 0, 3: 1},
			works: map[int][]string{0: both, 1: both, 2: both, 3: both}, want: 3,
		},
		"not where one instance is missing": {
			all: four(Open), sales: map[int]int{0: 9, 3: 2},
			works: map[int][]string{0: both, 1: {"a"}, 3: {"b", "a"}}, want: 3,
		},
		"not where Redis is away": {
			all: four(Open), sales: map[int]int{0: 9, 3: 2}, works: map[int][]string{0: both, 3: both}, want: 3,
		},
		"not where there is other data": {
			all: four(Open), sales: map[int]int{0: 9, 3: 2}, works: map[int][]string{0: both, 3: both},
			other: 1, want: 3,
		},
		"wanted where there is other data": {
			all: four(Open), works: map[int][]string{0: both, 3: both}, other: 1, wanted: number(1),
			err: voucher.ErrOtherData, text: "has other data",
		},
		"partition 0 does not say who is alive": {
			all: four(Open), sales: map[int]int{0: 9}, works: map[int][]string{1: both, 3: both}, want: 0,
		},
		"... and is closed": {
			all: four(Closed), works: map[int][]string{1: both, 3: both}, err: voucher.ErrNoPartition, text: "away",
		},
		"nobody is alive": {
			all: four(Closed), works: map[int][]string{0: {}, 1: both, 3: both}, err: voucher.ErrNoPartition,
		},
		"all are closed": {all: []Partition{{State: Closed}}, err: voucher.ErrNoPartition, text: "closed"},
		"wanted": {
			all: four(Open), works: map[int][]string{0: both, 3: both}, wanted: number(3), want: 3,
		},
		"0 wanted, and Redis is away": {all: four(Open), wanted: number(0), want: 0},
		"wanted where one is missing": {
			all: four(Open), works: map[int][]string{0: both, 3: {"a"}}, wanted: number(3),
			err: voucher.ErrNoPartition, text: "instance b",
		},
		"wanted and closed": {
			all: four(Open), wanted: number(2), text: "is 2, which is closed (allowed: 0, 1, 3; or leave it out)",
		},
		"wanted and removed":       {all: four(Open), wanted: number(4), text: "is 4, which is removed"},
		"wanted and unknown":       {all: four(Open), wanted: number(7), text: "is 7 (allowed"},
		"wanted below 0":           {all: four(Open), wanted: number(-1), text: "is -1 (allowed"},
		"wanted beyond any number": {all: four(Open), wanted: number(1 << 62), text: "is 4611686018427387904 (allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeService{fakeLedger: fakeLedger{all: tc.all}, sales: tc.sales, works: tc.works, other: tc.other}
			got, err := NewPlacer(f.Partitions, f.SalesIn, f.InstancesIn).Place(t.Context(), tc.wanted)
			var bad *invalid.Error
			switch {
			case tc.err == nil && tc.text == "":
				if err != nil || got != tc.want {
					t.Errorf("chose partition %d, %v, want %d", got, err, tc.want)
				}
			case tc.err != nil && !errors.Is(err, tc.err), tc.err == nil && !errors.As(err, &bad),
				!strings.Contains(err.Error(), tc.text):
				t.Errorf("chose partition %v, %v, want %v with %q", got, err, tc.err, tc.text)
			}
		})
	}
}

// hangingService is a service in which some partitions do not answer.
type hangingService struct {
	fakeService
	hung []int
}

func (h *hangingService) InstancesIn(ctx context.Context, n int) ([]string, error) {
	if slices.Contains(h.hung, n) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.fakeService.InstancesIn(ctx, n)
}

// Partitions that do not answer delay a new sale by a second in all. It is then placed in another partition.
func TestPlaceGoesPastHungPartitions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hung []int
		want int
	}{
		"some":        {hung: []int{1, 2, 3}, want: 4},
		"all":         {hung: []int{0, 1, 2, 3, 4}, want: 0},
		"partition 0": {hung: []int{0}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hangingService{
					hung: tc.hung, fakeService: fakeService{sales: map[int]int{0: 9, 4: 1}, works: map[int][]string{}},
				}
				for n := range 5 {
					h.all, h.works[n] = append(h.all, Partition{Number: n, State: Open}), []string{"a"}
				}
				start := time.Now()
				got, err := NewPlacer(h.Partitions, h.SalesIn, h.InstancesIn).Place(t.Context(), nil)
				if err != nil || got != tc.want {
					t.Errorf("chose partition %d, %v, want %d", got, err, tc.want)
				}
				if took := time.Since(start); took > placeTimeout {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

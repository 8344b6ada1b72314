package recorder

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

func TestLetterNames(t *testing.T) {
	t.Parallel()
	for _, p := range []int{0, 1, 31} {
		if got, id, err := parseLetterName(letterName(p, "7-0")); got != p || id != "7-0" || err != nil {
			t.Errorf("partition %d is %d, %q, %v", p, got, id, err)
		}
	}
	for _, name := range []string{"p0:7-0", "p01:7-0", "p-1:7-0", ":7-0", "1:7-0", "pp1:7-0", "p1"} {
		if p, _, err := parseLetterName(name); name != "p1" && !errors.Is(err, order.ErrNoDeadLetter) {
			t.Errorf("%q is of partition %d, %v", name, p, err)
		}
	}
}

// manyLetters is a store with three dead letters in each partition. No letter names an order.
type manyLetters struct {
	*fakeDeadLetters

	away int // the partition that does not answer; -1: none
}

func (m *manyLetters) DeadLetters(
	_ context.Context, partition int, after string, n int,
) (letters []DeadLetter, total int64, err error) {
	if partition == m.away {
		return nil, 0, order.ErrUnavailable
	}
	for i := range 3 {
		if id := fmt.Sprintf("%d-0", i+1); id > after && len(letters) < n {
			letters = append(letters, DeadLetter{ID: id})
		}
	}
	return letters, 3, nil
}

// The pages list each dead letter of all partitions once, and every page has the number of all.
func TestDeadLettersOfPartitions(t *testing.T) {
	t.Parallel()
	m := &manyLetters{away: -1}
	d := NewDeadLetters(DeadLetterStores{DeadLetters: m}, func() []int { return []int{0, 2, 3} }, nil, nil,
		ordertest.NopObserver{}, ordertest.Quiet())
	var got []string
	for after := ""; ; {
		page, total, err := d.List(t.Context(), after, 2)
		if err != nil || total != 9 {
			t.Fatalf("after %q: %d in all, %v", after, total, err)
		}
		if len(page) == 0 {
			break
		}
		for _, l := range page {
			got = append(got, l.ID)
		}
		after = got[len(got)-1]
	}
	if want := "[1-0 2-0 3-0 p2:1-0 p2:2-0 p2:3-0 p3:1-0 p3:2-0 p3:3-0]"; fmt.Sprint(got) != want {
		t.Errorf("the pages have %v, want %s", got, want)
	}
	if _, _, err := d.List(t.Context(), "p1:1-0", 2); !errors.Is(err, order.ErrNoDeadLetter) {
		t.Errorf("listing after one in an unknown partition: %v", err)
	}
	if _, err := d.Find(t.Context(), "p1:1-0"); !errors.Is(err, order.ErrNoDeadLetter) {
		t.Errorf("finding one in an unknown partition: %v", err)
	}
	m.away = 2
	if l, _, err := d.List(t.Context(), "", 2); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("with a partition away: %v, %v", l, err)
	}
}

package main

import (
	"container/heap"
	"time"
)

// simulation runs what is to happen in the order of its times.
type simulation struct {
	now   time.Time
	queue events
	count int64
}

// event is something that happens at a time. Those of one time happen in the order in which they were planned.
type event struct {
	at    time.Time
	order int64
	do    func()
}

type events []event

func (q *events) Len() int { return len(*q) }
func (q *events) Less(i, j int) bool {
	a, b := (*q)[i], (*q)[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.order < b.order
}
func (q *events) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }
func (q *events) Push(x any)    { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// at plans something for a time; what lies behind happens now.
func (s *simulation) at(t time.Time, do func()) {
	if t.Before(s.now) {
		t = s.now
	}
	s.count++
	heap.Push(&s.queue, event{t, s.count, do})
}

// after plans something for later.
func (s *simulation) after(d time.Duration, do func()) { s.at(s.now.Add(d), do) }

// run lets everything happen that is planned before the end.
func (s *simulation) run(end time.Time) {
	for len(s.queue) > 0 && s.queue[0].at.Before(end) {
		next := heap.Pop(&s.queue).(event)
		s.now = next.at
		next.do()
	}
}

func (s *simulation) clock() time.Time { return s.now }

package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
)

// refuse takes nothing.
func refuse(context.Context, Message) Failure { return Failure{Code: Status, Status: 400} }

type nobody struct{}

func (nobody) EventSent(bool, time.Duration) {}
func (nobody) EventsGivenUp(int)             {}
func (nobody) EndpointDisabled()             {}

// Attempts count against events until the breaker is open, and again after five days against those that are as old:
// these become dead letters, and only an event that is younger, or new, has the endpoint disabled.
func TestWhatFailuresCountAgainst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	broken := func(since time.Duration) Health { return Health{Failures: 50, FailingSince: now.Add(-since)} }
	for name, c := range map[string]struct {
		health   Health
		isNew    bool // it was not tried before
		attempts int64
		age      time.Duration
		dead     int
		behind   int64 // the attempts of the retry afterwards
		disabled bool
	}{
		"the breaker is closed":           {attempts: 3, behind: 4},
		"the ninth attempt":               {attempts: 8, dead: 1},
		"it opens":                        {health: Health{Failures: 9, FailingSince: now}, attempts: 3, behind: 4},
		"it opens with the ninth attempt": {health: Health{Failures: 9, FailingSince: now}, attempts: 8, dead: 1},
		"it is open":                      {health: broken(day), attempts: 8, age: 6 * day, behind: 8},
		"an old event after five days":    {health: broken(5 * day), attempts: 3, age: 6 * day, behind: 4},
		"its ninth attempt":               {health: broken(5 * day), attempts: 8, age: 6 * day, dead: 1},
		"a younger event":                 {health: broken(5 * day), attempts: 8, age: day, behind: 8, disabled: true},
		"a new event":                     {health: broken(5 * day), isNew: true, age: 6 * day, disabled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewDeliverer(nil, refuse, DelivererOptions{Lanes: 2, Now: func() time.Time { return now }},
				nobody{}, slog.New(slog.DiscardHandler))
			w := Work{Endpoint: Endpoint{Health: c.health, Next: 9}, Now: now, Until: now.Add(time.Minute), Next: 9}
			w.Events = []Event{{Number: 7, Subject: "order-1", SubjectNumber: 1, At: now.Add(-c.age)}}
			if !c.isNew {
				w.Retries = []Retry{{Subject: "order-1", Number: 7, Attempts: c.attempts}}
			}
			s := d.pass(t.Context(), w)
			if len(s.Dead) != c.dead || (s.Disable != "") != c.disabled || len(s.Behind) != 1 ||
				s.Behind[0].Attempts != c.behind {
				t.Errorf("dead letters %+v, behind %+v, disabled %q", s.Dead, s.Behind, s.Disable)
			}
			if s.Behind[0].Number != 7+int64(c.dead) {
				t.Errorf("it goes on from event %d", s.Behind[0].Number)
			}
		})
	}
}

// A receiver that crashes while many events are on the way to it has failed once; ten failures one after the other are
// ten.
func TestFailuresAtTheSameTimeAreOne(t *testing.T) {
	t.Parallel()
	const events = 25
	for lanes, want := range map[int]int64{events: 1, 1: breakAfter} {
		t.Run(fmt.Sprintf("%d at once", lanes), func(t *testing.T) {
			t.Parallel()
			var onTheWay sync.WaitGroup
			onTheWay.Add(lanes)
			crash := func(context.Context, Message) Failure {
				if lanes > 1 {
					onTheWay.Done()
					onTheWay.Wait()
				}
				return Failure{Code: ConnectionClosed}
			}
			d := NewDeliverer(nil, crash, DelivererOptions{Lanes: lanes, Now: time.Now}, nobody{},
				slog.New(slog.DiscardHandler))
			now := time.Now()
			w := Work{Endpoint: Endpoint{Next: events + 1}, Now: now, Until: now.Add(time.Minute), Next: events + 1}
			for n := int64(1); n <= events; n++ {
				w.Events = append(w.Events, Event{
					Number: n, Subject: order.Subject(fmt.Sprintf("order-%d", n)), SubjectNumber: 1, At: now,
				})
			}
			s := d.pass(t.Context(), w)
			if s.Health.Failures != want || s.Health.RetryAt.IsZero() != (want < breakAfter) {
				t.Errorf("%+v, want %d failures", s.Health, want)
			}
			if len(s.Behind) != lanes && lanes > 1 {
				t.Errorf("%d subjects are behind, want %d", len(s.Behind), lanes)
			}
		})
	}
}

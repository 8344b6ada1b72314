package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// model is an endpoint with its queue, in memory, and a receiver whose answers are drawn.
type model struct {
	now      time.Time
	endpoint Endpoint
	events   []Event // by their numbers, from 1
	retries  map[order.Subject]Retry
	took     map[int64]bool // by number
	dead     map[int64]bool
	last     map[order.Subject]int64 // the highest number of each that was taken or given up

	answer  func(Event) Failure
	sent    int // in this pass
	problem string
}

// Send is a Sender.
func (m *model) Send(_ context.Context, msg Message) Failure {
	m.sent++
	i := slices.IndexFunc(m.events, func(e Event) bool { return e.ID() == msg.ID })
	e := m.events[i]
	failure := m.answer(e)
	switch {
	case failure != Failure{}:
	case m.took[e.Number]: // again, which is allowed after a crash only, and there is none here
		m.problem = fmt.Sprintf("event %d is sent again", e.Number)
	case !m.endpoint.Wants(e.Type):
		m.problem = fmt.Sprintf("event %d is not wanted", e.Number)
	case e.SubjectNumber != m.last[e.Subject]+1:
		m.problem = fmt.Sprintf("event %d of %s is taken after %d", e.SubjectNumber, e.Subject, m.last[e.Subject])
	default:
		m.took[e.Number], m.last[e.Subject] = true, e.SubjectNumber
	}
	return failure
}

// work is what the ledger gives a deliverer: retries that are due, what is new, and what waits for its time.
func (m *model) work(n int) Work {
	e := m.endpoint
	w := Work{Endpoint: e, Now: m.now, Until: m.now.Add(time.Hour), Next: e.Next, ReplayNext: e.ReplayNext}
	if e.Disabled || m.now.Before(e.Health.RetryAt) {
		return w
	}
	others := e.Health.OthersFirst(m.now)
	if e.Health.Broken() {
		n = 1
	}
	steps := []func(){func() { m.due(&w, n) }, func() { m.fresh(&w, n) }}
	if others && e.Health.Broken() {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		step()
		if e.Health.Broken() && !w.Empty() {
			break
		}
	}
	for _, r := range m.retries {
		isDue := slices.ContainsFunc(w.Retries, func(d Retry) bool { return d.Subject == r.Subject })
		if !isDue && slices.ContainsFunc(w.Events,
			func(e Event) bool { return e.Subject == r.Subject }) {
			w.Waiting = append(w.Waiting, r)
		}
	}
	return w
}

func (m *model) due(w *Work, n int) {
	for _, r := range m.retries {
		if r.DueAt.After(m.now) || len(w.Retries) >= n {
			continue
		}
		w.Retries = append(w.Retries, r)
		for _, e := range m.events {
			if e.Subject == r.Subject && e.Number >= r.Number && e.Number < m.endpoint.Next {
				w.Events = append(w.Events, e)
			}
		}
	}
}

func (m *model) fresh(w *Work, n int) {
	from := min(len(m.events), int(m.endpoint.Next)-1)
	live := m.events[from:min(len(m.events), from+n)]
	w.Events = append(w.Events, live...)
	w.Next += int64(len(live))
}

// settle writes what has come of a pass, as the ledger does.
func (m *model) settle(s Settled) {
	for _, r := range s.Done {
		delete(m.retries, r.Subject)
	}
	for _, b := range s.Behind {
		m.retries[b.Subject] = b.Retry
	}
	for _, d := range s.Dead {
		e := m.events[d.Number-1]
		m.dead[d.Number], m.last[e.Subject] = true, e.SubjectNumber
		if d.Attempts != 9 {
			m.problem = fmt.Sprintf("event %d is given up after %d attempts", d.Number, d.Attempts)
		}
	}
	m.endpoint.Next, m.endpoint.Health = s.Next, s.Health
	if s.Disable != "" {
		m.endpoint.Disabled = true
	}
}

// check returns what is wrong: an event that the endpoint has got past is taken, given up, or still to be sent.
func (m *model) check() string {
	for _, e := range m.events {
		r, behind := m.retries[e.Subject]
		switch {
		case m.problem != "":
			return m.problem
		case m.took[e.Number] && m.dead[e.Number]:
			return fmt.Sprintf("event %d is taken and given up", e.Number)
		case m.took[e.Number], m.dead[e.Number], e.Number >= m.endpoint.Next, behind && r.Number <= e.Number,
			!m.endpoint.Wants(e.Type):
		default:
			return fmt.Sprintf("event %d of %s is lost", e.Number, e.Subject)
		}
	}
	if h := m.endpoint.Health; h.Broken() && h.RetryAt.Sub(m.now) > maxPause*6/5 {
		return fmt.Sprintf("the breaker's pause is %v", h.RetryAt.Sub(m.now))
	}
	return ""
}

// Whatever a receiver answers, and however time passes: no event is lost, an order's are taken in their order and
// once, none is given up before its ninth attempt; with the breaker open one at a time is tried; and once the receiver
// takes everything, everything is taken.
func TestEndpointKeepsEveryEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{
			now: time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC), endpoint: Endpoint{Next: 1},
			retries: map[order.Subject]Retry{}, took: map[int64]bool{}, dead: map[int64]bool{},
			last: map[order.Subject]int64{},
		}
		d := NewDeliverer(nil, m.Send, DelivererOptions{Lanes: 1, Now: func() time.Time { return m.now }}, nobody{},
			slog.New(slog.DiscardHandler))
		numbers := map[order.Subject]int64{}
		write := func() {
			id := rapid.Int64Range(1, 5).Draw(rt, "order")
			e := Event{Subject: order.SubjectOfOrder(id)}
			if id == 5 {
				e.Subject = order.SubjectOfPlace(order.PlaceID{VoucherID: 1, Position: id})
			}
			numbers[e.Subject]++
			e.Number, e.SubjectNumber, e.At = int64(len(m.events)+1), numbers[e.Subject], m.now
			m.events = append(m.events, e)
		}
		wanted := func() (n int) {
			for _, e := range m.events {
				if m.endpoint.Wants(e.Type) {
					n++
				}
			}
			return n
		}
		pass := func() {
			broken := m.endpoint.Health.Broken()
			m.sent = 0
			w := m.work(rapid.IntRange(1, 4).Draw(rt, "n"))
			if w.Empty() {
				return
			}
			m.settle(d.pass(rt.Context(), w))
			if broken && m.sent > 1 && !took(m, w) {
				rt.Fatalf("%d events are tried with the breaker open", m.sent)
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				write()
			case 1:
				m.now = m.now.Add(rapid.SampledFrom(
					[]time.Duration{time.Second, time.Minute, time.Hour, 30 * time.Hour}).Draw(rt, "later"))
			default:
				bad := rapid.SampledFrom([]string{"", "", "all", "odd", "gone"}).Draw(rt, "receiver")
				m.answer = func(e Event) Failure {
					switch {
					case bad == "all", bad == "odd" && strings.ContainsAny(e.Subject.ID(), "13579"):
						return Failure{Code: Status, Status: 500}
					case bad == "gone":
						return Failure{Code: Gone}
					}
					return Failure{}
				}
				pass()
				if m.endpoint.Disabled { // an admin enables it
					m.endpoint.Disabled, m.endpoint.Health = false, Health{}
				}
			}
			if problem := m.check(); problem != "" {
				rt.Fatal(problem)
			}
		}
		m.answer = func(Event) Failure { return Failure{} }
		for range 200 {
			m.now = m.now.Add(5 * time.Hour)
			pass()
		}
		if problem := m.check(); problem != "" || len(m.retries) > 0 || len(m.took)+len(m.dead) != wanted() {
			rt.Fatalf("in the end %q, %d behind, %d taken and %d given up of %d",
				problem, len(m.retries), len(m.took), len(m.dead), wanted())
		}
	})
}

// took reports whether the endpoint has taken the first event of a pass: then the breaker is closed, and its order's
// next ones follow.
func took(m *model, w Work) bool { return len(w.Events) > 0 && m.took[w.Events[0].Number] }

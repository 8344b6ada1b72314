package lock

import (
	"strings"
	"time"
)

// topic is one channel, and those of this process who wait there: for most kinds in one queue, named "", of which the
// first asks Redis; for kinds with a queue in Redis each in one of their own, named by the request, because Redis says
// whose turn it is. The mutex of pubsub guards it.
type topic struct {
	queues    map[string]*queue
	idle      time.Time      // since when nobody waits; zero while somebody does
	refresher queueRefresher // of the places; nil for kinds without a queue in Redis
	due       time.Time      // when the places are kept next
	gone      []string       // requests that do not wait any more, and have a place
}

// queueRefresher is a protocol whose waiters have places in a queue in Redis. acquire leaves one when it is refused and its
// claim listens, and release must be called when the wait is given up.
type queueRefresher interface {
	// stay keeps the places of the process: stay.lua.
	stay(request string, gone []string) call
}

// waiting reports whether somebody waits.
func (t *topic) waiting() bool {
	for name, q := range t.queues {
		if name != "" || len(q.waiters) > 0 {
			return true
		}
	}
	return false
}

// notify makes all who are first ask.
func (t *topic) notify() {
	for _, q := range t.queues {
		q.notify()
	}
}

// tell makes those with these requests ask. One who has left and still has a place, because the message crossed with it
// or it could not be given up, is remembered: nobody else would come past that place.
func (t *topic) tell(requests []string) {
	for _, r := range requests {
		if q := t.queues[r]; q != nil {
			q.notify()
		} else if len(t.gone) < mostGone {
			t.gone, t.due = append(t.gone, r), time.Time{}
		}
	}
}

// mostGone is how many places one script removes.
const mostGone = 100

// deliver acts on a message.
func (t *topic) deliver(text string) {
	q := t.queues[""]
	switch {
	case t.refresher != nil:
		t.tell(strings.Fields(text))
	case q == nil:
	case text == othersTurn:
		q.turn()
	default:
		q.notify()
	}
}

// othersTurn is what a process publishes when it has handed a lock on among its own as often as it may.
const othersTurn = "turn"

// soonerDue makes the places be kept by the given time.
func (t *topic) soonerDue(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

package httpapi

import "sync/atomic"

// load counts the requests in flight: those that handlers work on. There is room for so many; who comes then is refused
// before anything is asked about him, so that refusing costs little and those inside are answered as soon as ever.
type load struct {
	most    int64
	inside  atomic.Int64
	refused atomic.Int64 // since the start
}

// enter takes a place, or returns false; every true wants a leave. Who is refused has not held a place for a moment, which
// somebody else could have been refused for.
func (l *load) enter() bool {
	for {
		n := l.inside.Load()
		if n >= l.most {
			l.refused.Add(1)
			return false
		}
		if l.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (l *load) leave() { l.inside.Add(-1) }

// crowded says that more than half of the places are taken. Nobody may then keep his place only to wait.
func (l *load) crowded() bool { return l.inside.Load() > l.most/2 }

// Load is how much an API has to do.
type Load struct {
	InFlight int64 // requests
	Streams  int64 // event streams that are open
	Refused  int64 // requests since the start, because too many were in flight
}

// Load returns how much there is to do now.
func (a *API) Load() Load {
	return Load{InFlight: a.load.inside.Load(), Streams: int64(a.streams.count()), Refused: a.load.refused.Load()}
}

package lock

import "strings"

// keys are the names of what one lock has in Redis. They share a hash tag, "{lock:<name>}", so that they lie in one
// slot of a cluster. It is never empty, and it is the name's only place for braces: those of name and prefix are
// escaped. Each kind of lock has keys of its own: a mutex and a reentrant lock with one name are two locks.
type keys struct {
	lock    string // the state, of the kind's own type; with a time to live
	counter string // string, the last fencing token or a bound of it, with a time to live of a day
	channel string // publish/subscribe: somebody released
	latches string // prefix of the latches, strings with a time to live, one per request that must not be obeyed any more
}

// newKeys returns the keys of a lock; kind is "" for the mutex.
func newKeys(prefix, name, kind string) keys {
	base := escape(prefix) + "{lock:" + escape(name) + "}"
	if kind != "" {
		base += ":" + kind
	}
	return keys{lock: base, counter: base + ":token", channel: base + ":freed", latches: base + ":latch:"}
}

func (k keys) latch(request string) string { return k.latches + request }

// waiter is the channel of one request, of locks whose waiters are told one by one.
func (k keys) waiter(request string) string { return k.channel + ":" + request }

// queue and places are sorted sets (queue.lua) with a time to live.
func (k keys) queue() string  { return k.lock + ":queue" }
func (k keys) places() string { return k.lock + ":places" }

// readers (readers.lua) and readersQueue (queue.lua) are sorted sets with a time to live.
func (k keys) readers() string      { return k.lock + ":readers" }
func (k keys) readersQueue() string { return k.lock + ":readers:queue" }

// escape makes braces harmless and different names different.
func escape(s string) string {
	if !strings.ContainsAny(s, "%{}") {
		return s
	}
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(s)
}

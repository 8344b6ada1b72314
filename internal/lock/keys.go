package lock

import (
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// slots is the number of hash tags that locks are spread over. Each tag has one high-water key for tokens (token.lua),
// so it is also the number of keys that remain for a day, however many lock names were used.
const slots = 1024

// keys are the Redis keys of one lock. They share a hash tag, "{lock:<slot>}", so that they are in one slot of a
// cluster. Braces in the prefix are escaped, so that Redis finds no hash tag before this one. Each kind of lock has its
// own keys: a mutex and a reentrant lock with one name are two locks.
type keys struct {
	// lock is the state, of the kind's own type, with a time to live: "<prefix>{lock:<slot>}:<kind>:<name>". The
	// channel on which releases are published has the same name.
	lock       string
	kind, name string
	// all are the scripts' KEYS: the state; the high water of tokens, a string with a time to live of a day
	// (token.lua); the latch of a request; and the keys that only this kind has.
	all []string
}

// newKeys returns the keys of a lock. The prefix is escaped.
func newKeys(prefix, kind, name string) keys {
	number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots))
	lock := prefix + "{lock:" + number + "}:" + kind + ":" + name
	slot := lock[:len(prefix)+len("{lock:}")+len(number)]
	return keys{lock: lock, kind: kind, name: name, all: []string{lock, slot, slot}}
}

// of returns the KEYS for the scripts of a request.
func (k keys) of(request string) []string {
	names := slices.Clone(k.all)
	names[2] = k.latch(request)
	return names
}

// latch is the key that marks a request as ended, so that a late copy of it is ignored: string with a time to live.
func (k keys) latch(request string) string { return k.all[1] + ":" + request }

// more returns another key of the lock, for a purpose that its kind defines.
func (k keys) more(what string) string { return k.all[1] + ":" + k.kind + "-" + what + ":" + k.name }

// with returns a copy of the keys with the kind's further keys.
func (k keys) with(others ...string) keys {
	k.all = append(k.all, others...)
	return k
}

// escape escapes braces, so that different strings stay different.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(s)
}

package lock

import (
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// slots is over how many hash tags locks are spread. Each has one high water of tokens (token.lua), so it is also how
// many keys stay for a day when locks of any number of names were used.
const slots = 1024

// keys are the names of what one lock has in Redis. They share a hash tag, "{lock:<slot>}", so that they lie in one
// slot of a cluster. It is the first place with braces: those of the prefix are escaped. Each kind of lock has keys of
// its own: a mutex and a reentrant lock with one name are two locks.
type keys struct {
	// lock is the state, of the kind's own type, with a time to live: "<prefix>{lock:<slot>}:<kind>:<name>". The
	// channel on which releases are published has the same name.
	lock       string
	kind, name string
	// all are the scripts' keys: the state; the high water of tokens, string (token.lua), with a time to live of a
	// day; the latch, which is a request's; and what the kind has besides.
	all []string
}

// newKeys returns the keys of a lock. The prefix is escaped.
func newKeys(prefix, kind, name string) keys {
	number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots))
	lock := prefix + "{lock:" + number + "}:" + kind + ":" + name
	slot := lock[:len(prefix)+len("{lock:}")+len(number)]
	return keys{lock: lock, kind: kind, name: name, all: []string{lock, slot, slot}}
}

// of returns the keys of a request's scripts.
func (k keys) of(request string) []string {
	names := slices.Clone(k.all)
	names[2] = k.latch(request)
	return names
}

// latch is of one request that must not be obeyed any more: string with a time to live.
func (k keys) latch(request string) string { return k.all[1] + ":" + request }

// more is another key of the lock, which the kind says what is for.
func (k keys) more(what string) string { return k.all[1] + ":" + k.kind + "-" + what + ":" + k.name }

// with returns the keys and those that the kind has besides.
func (k keys) with(others ...string) keys {
	k.all = append(k.all, others...)
	return k
}

// escape makes braces harmless and different prefixes different.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(s)
}

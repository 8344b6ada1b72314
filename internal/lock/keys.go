package lock

import (
	"hash/crc32"
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
	// lock is the state, of the kind's own type, with a time to live: "<prefix>{lock:<slot>}:<kind>:<name>". The channel
	// on which releases are published has the same name.
	lock       string
	slot       string // the high water of tokens: string (token.lua), with a time to live of a day
	kind, name string
}

// newKeys returns the keys of a lock. The prefix is escaped.
func newKeys(prefix, kind, name string) keys {
	number := strconv.Itoa(int(crc32.ChecksumIEEE([]byte(name)) % slots))
	lock := prefix + "{lock:" + number + "}:" + kind + ":" + name
	return keys{lock: lock, slot: lock[:len(prefix)+len("{lock:}")+len(number)], kind: kind, name: name}
}

// latch is of one request that must not be obeyed any more: string with a time to live.
func (k keys) latch(request string) string { return k.slot + ":" + request }

// more is another key of the lock, which the kind says what is for.
func (k keys) more(what string) string { return k.slot + ":" + k.kind + "-" + what + ":" + k.name }

// escape makes braces harmless and different prefixes different.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(s)
}

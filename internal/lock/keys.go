package lock

import "strings"

// keys are the names of what one lock has in Redis. They share a hash tag, "{lock:<name>}", so that they lie in one
// slot of a cluster. It is never empty, and it is the name's only place for braces: those of name and prefix are
// escaped.
type keys struct {
	lock    string // hash {owner, token}, with a time to live
	counter string // string, the last fencing token, with a time to live of a day
	channel string // publish/subscribe: the owner who released
	latches string // prefix of the latches, strings with a time to live, one per owner who released or gave up
}

func newKeys(prefix, name string) keys {
	base := escape(prefix) + "{lock:" + escape(name) + "}"
	return keys{lock: base, counter: base + ":token", channel: base + ":freed", latches: base + ":latch:"}
}

func (k keys) latch(owner string) string { return k.latches + owner }

// escape makes braces harmless and different names different.
func escape(s string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(s)
}

// Package group combines several locks into one. It uses the public interface of package lock,
// and the door of package member.
//
//	Multi    all of them, or none
//	Redlock  the same lock on independent servers: a majority of them
//
// All members are tried at the same time, in the name of one owner. If enough of them are obtained, they become one
// [Hold]; if not, they are released. Each Locker renews its own part of the hold. When a part ends, the remaining ones
// are counted. While Lock waits, it holds none of the members.
//
// A majority survives servers that are gone, but not servers that lose their memory or whose clocks jump: such a server
// gives its member away, and if enough servers do so, there are two holders. Therefore a server counts only after it
// has run for a lease, and the resource can tell the holders apart by their tokens.
package group

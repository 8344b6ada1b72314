package lock

import (
	"cmp"
	"slices"
)

// Multi returns the lock that is had by those who have all of these, of any kind, from one Locker or several, each held as its
// own options say. It is taken as a whole or not at all. Who waits for it waits for one of them and has none, so that
// two who name them in different orders do not wait for each other; it also means that somebody who takes them one by
// one, often enough, can keep them waiting. With one lock among them twice it is refused, with ErrDuplicate.
//
// The hold is lost as soon as one of them is; the others are not renewed from then on. A release tries each of them, and
// its error says what became of each that failed. ErrNotObtained may come from a lock that is held only until another
// caller has found out that they do not get all of theirs.
//
// The token of a hold is the highest of its locks'. It is higher than that of earlier holds of the same locks; a
// resource that is written under one of them alone as well has to be given that one's, from TokenOf. State shows owners who
// have all of them; where they are held in the name of different ones, as a Mutex beside a Reentrant, it shows nobody, and
// the locks themselves have to be asked.
func Multi(first *Lock, more ...*Lock) *Lock {
	members := append([]*Lock{first}, more...)
	// Those who want the same locks begin with the same one, and mostly do not meet at the others.
	slices.SortStableFunc(members, func(a, b *Lock) int { return cmp.Compare(a.key, b.key) })
	return newGroup(members, len(members))
}

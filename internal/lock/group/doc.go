// Package group makes one lock of several, over the public interface of package lock.
//
//	Multi    all of them, or none
//	Redlock  the same lock on independent servers: a majority of them
//
// The members are tried at the same time, each as always, in the name of one owner. What was obtained is one [Hold]
// if it is enough, and is given back if not. Each part of a hold is renewed by its own Locker, and when one ends the
// rest is counted. A call of Lock waits for one member, and has none of the others meanwhile.
//
// A majority hides the loss of servers, not of their memory or their clocks: one that restarts empty, or whose clock
// jumps, gives its part away, and with enough of them two have the lock. So a server does not count until it has run
// for a lease. The token is what the resource can tell them by.
package group

// Package locks compares the package lock with three other libraries, on one Redis of its own:
//
//	bench locks [-out file] [-rounds 5] [-turn 2s] [-handovers 40] [-many 1m] [-before commit]
//
// In every round each library takes each scenario once, in a different order each time:
//
//	same name        one goroutine takes and releases a lock as fast as it can
//	fresh names      the same with another lock each time
//	64 names at once two clients, 32 goroutines each, of which each has a lock of its own
//	2 contenders     two clients, one goroutine each, fight for one lock
//	64 contenders    two clients, 32 goroutines each
//	handover         one client releases while another waits: from the call of release to the return of lock
//
// Every library has the settings with which it performs best here (libraries.go). A ratio is computed within a round,
// so that other load on the machine cancels out. With -before, the package at that commit takes part like another
// library: before and after in one run. With -out the figures are written to file.json and file.md.
package locks

// Package child runs the programs that tests and measurements start beside themselves: it builds them, starts them,
// waits until they are ready, ends them, and reads their processor time.
//
// What can go wrong: this process dies. On Linux the kernel then kills its children; elsewhere they stay.
package child

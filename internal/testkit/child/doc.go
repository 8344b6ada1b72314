// Package child runs programs for tests and measurements: it builds and starts them, waits until they are ready, ends
// them, and measures their CPU time.
//
// If this process dies, Linux kills its children; on other systems they keep running.
package child

// Package rediskit is Redis as its users share it: the core's package redisstore, and the features. It opens the
// clients, runs scripts, reads their answers, and says what an error means.
//
// Redis is authoritative for what a script has done, whether its answer arrived or not: nothing here repeats a command
// by itself. An error wraps order.ErrUnavailable exactly when the command certainly had no effect.
//
// What can go wrong: a server that does not answer is an error after the clients' time limit, and unknown; a node that
// was replaced is found by reading the slot map anew (slot_map.go); a class of callers that has taken all its
// connections waits or is refused, and takes none from another (permits.go).
package rediskit

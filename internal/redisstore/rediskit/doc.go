// Package rediskit is what all users of Redis share: the core's package redisstore, and the features. It opens the
// clients, runs scripts, reads their answers, and classifies errors.
//
// Redis is authoritative for what a script has done, whether its answer arrived or not, so nothing here repeats a
// command by itself. An error wraps order.ErrUnavailable exactly when the command certainly had no effect.
//
// What can go wrong: if a server does not answer within the clients' timeout, that is an error, and the outcome is
// unknown. If a node was replaced, reading the slot map again finds the new one (slot_map.go). If a class of callers
// uses all its connections, it waits or is refused, and takes none from another class (permits.go).
package rediskit

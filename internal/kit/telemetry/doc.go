// Package telemetry makes the service's log and its metrics.
//
// Nothing here is authoritative: numbers of orders come from the ledger, these count what this process saw since it
// started. A counter is 0 after a restart, and a purchase whose answer was lost is counted as what this process knew.
//
// Conventions: every name begins with seckill_, times are in seconds, counters end in _total. Labels come from fixed
// lists (routes as registered, codes of the domain), never from what a caller sent, so that the number of series is
// bounded. Counting on the path of a purchase allocates nothing: the series are looked up once, at the start or at
// first use.
//
// Metrics are served on the operations listener only; see [Metrics.Handler].
package telemetry

// Package telemetry provides the service's log and metrics.
//
// The metrics are not authoritative: numbers of orders come from the ledger, while these count what this process has
// seen since it started. Counters restart at 0, and a purchase whose answer was lost is counted as this process saw it.
//
// Conventions: every name begins with seckill_, times are in seconds, counters end in _total. Label values come from
// fixed lists (registered routes, codes of the domain), never from a caller's input, so that the number of series is
// bounded. Counting on the path of a purchase allocates nothing: series are looked up once, at the start or at first
// use.
//
// Metrics are served on the operations listener only; see [Metrics.Handler].
package telemetry

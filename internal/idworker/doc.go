// Package idworker makes order ids: positive 63-bit numbers that no two processes ever give twice, at memory speed.
//
//	 63        62 ........................ 32   31 ........................ 0
//	+-----------+------------------------------+------------------------------+
//	| 0         | seconds since 2022-01-01 UTC | scrambled number of the day  |
//	+-----------+------------------------------+------------------------------+
//
// The number comes from a counter that restarts every day (UTC) and that all processes share: a [Counter], which is a
// Redis key. A [Worker] reserves numbers in blocks, the next one before the current one is used up, so that an id costs
// no round trip. A keyed permutation scrambles the number, so that ids do not reveal how many orders a day has.
//
// # Why no id comes twice
//
// An id combines its second with a number, and the second determines the day. So it suffices that each number of a day
// is used once. The id's second and the choice of the block come from one reading of the clock, and a block serves only
// one day. So clocks may disagree and step back, even over midnight: the worker then takes a block of the clock's day
// and abandons the rest of the other one. Ids roughly follow time, by the clock of the process that made them; rely on
// no more than that.
//
// # What is authoritative
//
// The counter in Redis decides which numbers are taken. A Redis that lost data would hand out numbers again, so
// whenever it may have lost data the counter leaps ahead, by at least a million plus a random amount:
//
//	what happened                            how it is noticed                      what is done
//	Redis restarted, or a replica took over  another server's id beside the counter leap
//	the counter is too low                   the worker has seen a higher number    leap above that number
//	the counter is gone (or the day is new)  the key does not exist                 leap above all recorded ids
//	                                         and nothing was recorded               start at a random number
//	a reply is lost, or a process dies       not noticed                            its numbers are never used
//
// A leap is 1/256 of the day's remaining numbers or 1,048,576, whichever is more, and up to as much again: at the
// beginning of a day 16.7 million. Living processes tell the counter what they have seen, so for them no loss is too
// large. If all of them are new, a counter that comes back with an old snapshot may repeat numbers once it has lost
// more than the leap. An id is repeated only if its second comes back as well, as when the clock is set back.
//
// The recorded ids are in [History], the ledger; it is read only if the counter is gone. An unrecorded id of a living
// process is below the leap, or collides with the random start with a probability of about one in ten thousand. For
// that case ids are also primary keys: the ledger detects a collision.
//
// # What can go wrong
//
//	Redis is down                            Next answers from its blocks, then fails until Redis is back
//	the ledger is down, the counter is gone  Next fails until the ledger is back; a new day has no counter at first
//	the day's numbers are used up            ErrExhausted until midnight UTC, but only after two billion numbers or
//	                                         several hundred leaps
//	the clock is before 2022 or after 2090   ErrClock
//	the ledger was recorded with another key, or has ids from elsewhere
//	                                         its ids unscramble to arbitrary numbers, so a lost counter restarts very
//	                                         high, at worst with ErrExhausted until midnight UTC; still no id is given
//	                                         twice
//
// The package imports nothing of the project.
package idworker

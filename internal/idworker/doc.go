// Package idworker makes order ids: positive 63-bit numbers that no two processes ever give twice, at memory speed.
//
//	 63        62 ........................ 32   31 ........................ 0
//	+-----------+------------------------------+------------------------------+
//	| 0         | seconds since 2022-01-01 UTC | scrambled number of the day  |
//	+-----------+------------------------------+------------------------------+
//
// The number comes from a counter that starts again every day (UTC) and that all processes share: a [Counter], which
// is a Redis key. A [Worker] reserves numbers from it in blocks, the next one before the current one is used up, so
// that an id costs no round trip. A keyed permutation scrambles the number, so that ids do not reveal how many orders
// a day has.
//
// # Why no id comes twice
//
// An id is its second and a number, and the second determines the day. So it is enough that a day's numbers are given
// once: the day of the block that a number is from and the second of the id come from one reading of the clock, and a
// block serves no other day. Clocks may therefore disagree and step back, also over midnight: the worker then takes a
// block of the clock's day, and the rest of the other one is never used. Ids are roughly in the order of time, by the
// clock of the process that made them; nothing may rely on more.
//
// # What is authoritative
//
// The counter in Redis decides which numbers are taken. A Redis that has lost some of its data would give numbers
// again, so the counter leaps ahead, by at least a million and a random amount more, whenever it may have:
//
//	what happened                           how it is noticed                       what is done
//	Redis restarted, or a replica took over another server's id beside the counter  leap
//	the counter stands too low              the worker has seen a higher number     leap above that number
//	the counter is gone (or the day is new) there is no key                         leap above all recorded ids
//	                                        and nothing was recorded                begin at a random number
//	a reply is lost, a process dies         -                                       its numbers are never used
//
// [History], the ledger, has the recorded ids; it is read only when the counter is gone. An unrecorded id of a
// living process lies below the leap, or collides with the random beginning with a probability of about one in ten
// thousand. Because of it ids are also primary keys: the ledger detects a collision.
//
// # What can go wrong
//
//	Redis is away                           Next answers from its blocks, then fails until Redis is back
//	the ledger is away, the counter is gone Next fails until the ledger is back; so does the first id after midnight
//	the day's numbers are used up           ErrExhausted until midnight UTC, after no less than two billion of them or
//	                                        some hundreds of leaps
//	the clock is before 2022 or after 2090  ErrClock
//	the ledger was recorded with another key, or holds ids from elsewhere
//	                                        its ids unscramble to arbitrary numbers: when the counter is gone it
//	                                        begins very high, at worst with ErrExhausted until midnight UTC; no id
//	                                        comes twice
//
// The package imports nothing of the project.
package idworker

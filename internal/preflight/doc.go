// Package preflight decides whether a sale can go ahead: a list of what must be right before eight, each line with what is the case, why
// it matters, and what to do about it.
//
// [Gather] asks its [Sources] at the same time, each for some seconds at most, and [List] judges the [Facts]: a store that is away or
// hangs costs its own lines, and no others. What could not be found
// out is a warning that says so, never an ok: managed stores hide some settings. The texts are for people, in English and Chinese.
//
// A sale that went well is the measure for the next one: [Setups] keeps the [Setup] of each sale once it has begun, and the list says what
// has changed since. It is read then, and not when the list is asked for, because nobody may have asked.
//
//	an instance dies, or the database hangs     any instance keeps it, within an hour; then the sale before is compared with
//	several instances write it at once          the first row stays
//	a store does not answer when a sale begins  after a minute it is kept without what that would have said
//	a setting cannot be read, then or now       the list names it, as not compared
package preflight

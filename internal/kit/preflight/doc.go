// Package preflight decides whether a sale can go ahead: a list of what must be right before eight, each line with
// what is the case, why it matters, and what to do about it.
//
// [Gather] asks its [Sources] at the same time, each for some seconds at most, and [List] judges the [Facts]: a store
// that is away or hangs costs its own lines, and no others. What could not be found out is a warning that says so,
// never an ok: managed stores hide some settings. The texts are for people, in English and Chinese.
package preflight

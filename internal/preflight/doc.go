// Package preflight decides whether a sale can go ahead: a list of what must be right before eight, each line with what is the case, why
// it matters, and what to do about it.
//
// It asks nothing itself: adapters and the command that prints the list gather [Facts], and [List] judges them. What could not be found
// out is a warning that says so, never an ok: managed stores hide some settings. The texts are for people, in English and Chinese.
package preflight

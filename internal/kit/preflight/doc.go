// Package preflight decides whether a sale can go ahead. It makes a list of checks; each line says what is the case,
// why it matters, and what to do about it.
//
// [Gather] asks all [Sources] concurrently, each for a few seconds at most, and [List] judges the [Facts]. A store that
// is down or hangs affects only its own lines. What could not be determined is a warning that says so, never an ok:
// managed stores hide some settings. The texts are for people, in English and Chinese.
package preflight

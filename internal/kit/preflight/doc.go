// Package preflight decides whether a sale can go ahead. It makes a list of checks; each line states a finding, why it
// matters, and what to do about it.
//
// [Gather] asks all [Sources] concurrently, each for a few seconds at most, and [List] judges the [Facts]. A store that
// is down or hangs affects only its own lines. A fact that could not be determined gets a warning that says so, never
// an ok: managed stores hide some settings. The texts are for people, in English and Chinese.
package preflight

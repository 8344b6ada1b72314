// Package checklist decides whether a sale can go ahead. It makes a list of checks; each line states a finding, why it
// matters, and what to do about it.
//
//	GET /admin/check, server check ──► Checklist ──► sale, ledger, Redis, instances, backlog ──► List ──► go or no-go
//	                                             ◄── Members: the last rehearsal
//
// All sources are asked concurrently, each for a few seconds at most, and [List] judges the [Facts]. A store that is
// down or hangs affects only its own lines. A fact that could not be determined gets a warning that says so, never an
// ok: managed stores hide some settings. It decides nothing: a sale with a no-go begins all the same.
package checklist

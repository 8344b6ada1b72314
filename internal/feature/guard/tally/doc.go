// Package tally counts, for people who watch a sale, the requests that each guard stopped, and the units sold, by the
// account's age and by network. No decision depends on the counts.
//
// A Tally counts on one instance; its Flusher adds the counts to those of all instances once a second. A count whose
// addition may have arrived is not added again: counts may be too low, and are never too high.
package tally

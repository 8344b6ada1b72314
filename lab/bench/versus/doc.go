// Package versus compares two builds of the server: an older commit with the work tree, or any two commits. It measures
// what a change costs a purchase, even on a noisy machine.
//
// In each round three processes run on the same Redis and database: the old build, the new one, and the old one again,
// each with a key prefix and a schema of its own. They get load in turn, in slices of half a second, in each of the six
// orders, so that other load on the machine affects them alike. First new users buy, from a stock that cannot run out;
// then more buy while the sale's row is locked, and the backlog is drained; then a sold-out sale refuses. At the end
// rows, stock and answers must agree.
//
// A figure is a ratio, one per round: the new build divided by the (geometric) mean of the two old ones. The second old
// one divided by the first shows how much one binary differs from itself: the noise floor. The report has the median of
// each ratio over the rounds with a 95 % interval (bootstrap: percentiles of the medians of 10,000 draws with
// replacement; the seed is fixed, so a report can be computed again).
//
// The verdict on each figure, where a ratio above 1 means that the new build is worse:
//
//   - worse: the interval lies above 1, and above the interval of the old build against itself;
//   - no worse than the spread of the old tree against itself: the interval's upper end is no further from 1 than
//     nine of ten rounds of the old build against itself are;
//   - undecided: neither. More rounds, or a quieter machine, decide.
//     Fewer than six rounds always leave it at that.
//
// Processor time is the kernel's own account of a whole process in nanoseconds, read before the first request of a
// slice and after its last row, so it includes recording. It depends least on other load on the machine, so it is the
// figure to trust most.
package versus

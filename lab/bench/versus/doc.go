// Package versus compares two builds of the server: an older commit and the work tree, or any two commits. It answers
// what a change costs a purchase, on a machine that is not quiet.
//
// In each round three processes run on the same Redis and database: the old build, the new one, and the old one
// again, each with a key prefix and a schema of its own. They get load in turn, in slices of half a second, in each
// of the six orders, so that what else the machine does hits each alike. First users who were never here buy, from a
// stock that cannot run out; then more buy while the sale's row is locked, and the backlog is drained; then a
// sold-out sale refuses. Afterwards rows, stock and answers must agree.
//
// A figure is a ratio, one for each round: new divided by the (geometric) mean of the two old ones. The second old
// one divided by the first is what the same binary differs from itself by: the noise floor. Of each ratio the median
// over the rounds is told with a 95 % interval (bootstrap: percentiles of the medians of 10,000 draws with
// replacement; the seed is fixed, so a report can be computed again).
//
// What is decided of each figure, where a ratio above 1 is a change to the worse:
//
//   - worse: the interval lies above 1, and above the interval of the old build against itself;
//   - no worse than the spread of the old tree against itself: the interval's upper end is no further from 1 than
//     nine of ten rounds of the old build against itself are;
//   - undecided: neither. More rounds, or a quieter machine, decide.
//     Fewer than six rounds always leave it at that.
//
// Processor time is the kernel's own account of a whole process in nanoseconds, read before the first request of a
// slice and after its last row, so it includes recording. It depends least on what else the machine does, and is what
// to believe first.
package versus

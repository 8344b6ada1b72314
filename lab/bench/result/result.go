// Package result has the benchmark's results as plain data: figures with one sample per round, and records of what is
// measured once. It does not know how a figure was measured, nor how it is shown. Measurements return results, reports
// read them, and a result that was stored as JSON can be reported again.
package result

// Run is one run of the benchmark. Either part may be missing.
type Run struct {
	Machine    Machine     `json:"machine"`
	Plan       Plan        `json:"plan"`
	Comparison *Comparison `json:"comparison,omitempty"`
	Before     *Before     `json:"before,omitempty"`
	Limits     *Limits     `json:"limits,omitempty"`
}

// Before is the same comparison with the service of an older commit, measured in turn with this one.
type Before struct {
	Commit string `json:"commit"`
	Comparison
}

// Comparison is how the candidates compare.
type Comparison struct {
	Targets    []Target     `json:"targets"` // derived from the rest by the report
	Candidates []Series     `json:"candidates"`
	Contention []Contention `json:"contention"`
	Crashes    []Crash      `json:"crashes"`
}

// Target is a figure that has a target: a ratio of two candidates within each round, or a figure of one.
type Target struct {
	ID         string    `json:"id"` // as in the list of targets
	What       string    `json:"what"`
	Unit       string    `json:"unit,omitempty"` // none: a ratio
	Goal       float64   `json:"target"`
	UpperBound bool      `json:"targetIsUpperBound,omitempty"`
	Samples    []float64 `json:"samples"` // of the rounds in which it was measured
}

// Contention is a short sale in which every user sent several requests at once: it shows a candidate's mistakes beside
// its speed.
type Contention struct {
	Candidate  string `json:"candidate"`
	Processes  int    `json:"processes"`
	Units      int64  `json:"units"`
	Orders     int64  `json:"orders"`
	Oversold   int64  `json:"oversold"`   // orders beyond the units
	Duplicates int64  `json:"duplicates"` // orders of users who had one
}

// Overlap is what happened under a kind of lock while some of its holders stalled.
type Overlap struct {
	Candidate  string
	Turns      int64 // holders
	Overlaps   int64 // of them: began while another one held the same lock
	Duplicates int64 // orders of users who had one
}

// Crash says what happened to accepted orders when a process was killed with SIGKILL in the middle of a sale and
// started again.
type Crash struct {
	Candidate string `json:"candidate"`
	Killed    string `json:"killed"`   // what was killed
	Accepted  int64  `json:"accepted"` // requests that were answered with an order
	Recorded  int64  `json:"recorded"` // of them: the row is there
	Queued    int64  `json:"queued"`   // of them: no row, but still in the queue
	Lost      int64  `json:"lost"`     // of them: neither
}

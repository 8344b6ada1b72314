package rehearsal

import (
	"context"
	"errors"
	"time"

	"seckill/internal/voucher"
)

// Errors of requests for a rehearsal.
var (
	// ErrNone: there is no such rehearsal.
	ErrNone = errors.New("there is no such rehearsal")
	// ErrOver: the rehearsal has ended. Its orders may be gone, so a report of its crowd would be wrong.
	ErrOver = errors.New("the rehearsal has ended")
)

const (
	// reportGrace is how long after its end a rehearsal still takes a report. Its orders are not removed before that.
	reportGrace = time.Minute
	// memoryTimeout bounds the query of Redis's memory with each report.
	memoryTimeout = 500 * time.Millisecond
	// shownRuns is how many rehearsals of a sale are listed.
	shownRuns = 20
)

// Run is a rehearsal with its results. It is kept when its sale is gone.
type Run struct {
	VoucherID  int64 // the rehearsal's own voucher
	Of         int64 // the voucher whose sale it rehearses
	AdminID    int64 // the admin who started it; 0: it was started by the command
	Begin, End time.Time
	ReportedAt time.Time // when its crowd last reported; zero: not yet
	Done       bool      // the crowd has finished, and the figures are final
	Figures    Figures
}

// State is the progress of a rehearsal.
type State string

// The states.
const (
	Waiting State = "waiting" // for its crowd
	Running State = "running"
	Done    State = "done"
	Lost    State = "lost" // it has ended without a final report
)

// State returns the state at the time now.
func (r Run) State(now time.Time) State {
	switch {
	case r.Done:
		return Done
	case now.After(r.End.Add(reportGrace)):
		return Lost
	case r.ReportedAt.IsZero():
		return Waiting
	default:
		return Running
	}
}

// earlier returns the earlier of two times: an end is never moved to a later one.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Runs keeps rehearsals: *Ledger. It writes the row of each together with its voucher.
type Runs interface {
	// List returns the rehearsals of a voucher's sale, newest first, at most limit.
	List(ctx context.Context, of int64, limit int) ([]Run, error)
	// Find returns a rehearsal. Error: ErrNone.
	Find(ctx context.Context, voucherID int64) (Run, error)
	// Change lets change update a rehearsal's end, reports and figures under its lock; now is the ledger's time. It
	// returns ErrNone or the error that change returns.
	Change(ctx context.Context, voucherID int64, change func(now time.Time, r *Run) error) (Run, error)
}

// Of returns the rehearsals of a voucher's sale, newest first.
func (r *Rehearsals) Of(ctx context.Context, voucherID int64) ([]Run, error) {
	return r.parts.Runs.List(ctx, voucherID, shownRuns)
}

// Find returns one rehearsal. Error: ErrNone.
func (r *Rehearsals) Find(ctx context.Context, voucherID int64) (Run, error) {
	return r.parts.Runs.Find(ctx, voucherID)
}

// Report keeps the figures that the crowd of a rehearsal has measured so far, and the memory that Redis uses now. If
// done is set, the figures are final, and Report ends the sale. A final report may come twice; the first one stays.
// Errors: ErrNone, ErrOver.
func (r *Rehearsals) Report(ctx context.Context, voucherID int64, f Figures, done bool) error {
	used, limit := r.memoryNow(ctx)
	run, err := r.parts.Runs.Change(ctx, voucherID, func(now time.Time, run *Run) error {
		switch {
		case run.Done:
			return nil
		case now.After(run.End.Add(reportGrace)):
			return ErrOver
		}
		f.Stock = run.Figures.Stock
		f.MemoryIdle, f.MemoryPeak, f.MemoryMax = run.Figures.MemoryIdle, max(run.Figures.MemoryPeak, used),
			max(run.Figures.MemoryMax, limit)
		if run.ReportedAt.IsZero() { // before its first buyer
			f.MemoryIdle = used
		}
		run.Figures, run.ReportedAt, run.Done = f, now, done
		if done {
			run.End = earlier(run.End, now.Add(endAhead))
		}
		return nil
	})
	if err != nil || !run.Done {
		return err
	}
	return r.endSale(ctx, voucher.Author{Request: "crowd"}, voucherID)
}

// memoryNow returns how many bytes Redis uses, and its limit; zeros if they cannot be read in time, which does no harm
// because the next report comes soon.
func (r *Rehearsals) memoryNow(ctx context.Context) (used, limit int64) {
	ctx, cancel := context.WithTimeout(ctx, memoryTimeout)
	defer cancel()
	used, limit, err := r.parts.Memory(ctx)
	if err != nil {
		return 0, 0
	}
	return used, limit
}

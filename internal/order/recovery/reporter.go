package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
)

// ReportStore takes recovery reports: Redis.
type ReportStore interface {
	// Heartbeat records that the reporter is alive, and returns the recovery rounds since last, the answer to its
	// previous heartbeat. At the first heartbeat last is zero: Heartbeat then returns the rounds of the last RoundTTL,
	// and older ones that no heartbeat has found. It may return a round twice.
	Heartbeat(ctx context.Context, partition int, reporter string, last Heard) (Heard, error)
	// SubmitReport stores the report, and returns the sale's epoch and whether the report was in time. Repeating it is
	// harmless.
	SubmitReport(ctx context.Context, round Round, reporter string, report Report) (inTime bool, epoch int64, err error)
}

// Round is one recovery round: the part of a rebuild that waits for the reports of all live instances.
type Round struct {
	Sale    order.SaleRef
	Stopped int64 // when the sale was stopped, in milliseconds since 1970 by Redis's clock: it names the round
}

// Heard is the answer to a heartbeat.
type Heard struct {
	Now    int64         // by Redis's clock, milliseconds since 1970
	Ago    time.Duration // time since the heartbeat was sent; the caller sets it
	Rounds []Round
}

// RoundTTL is how long reporters are notified of a recovery round, and how long they retry a failed report.
const RoundTTL = 10 * time.Minute

// Report is one instance's memory of a sale.
type Report struct {
	Seen   order.Mark    // the highest mark that it has seen from Redis
	Claims []order.Claim // its recent accepts
}

// Admitted is this instance's memory of its admissions: admission.Admission.
type Admitted interface {
	// Seen returns the highest mark of the sale that Redis has answered with.
	Seen(sale int64) order.Mark
	// RecentAccepts returns, by sale, the recent accepts of this instance, oldest first.
	RecentAccepts(sales ...int64) map[int64][]order.Claim
}

const (
	heartbeatEvery = 200 * time.Millisecond // also how often it looks for new rounds
	reportTimeout  = 10 * time.Second       // the time limit of one report
	maxReports     = 16                     // the most reports under way
)

// Reporter hands in this instance's memory of a sale that is being rebuilt (rule 10), so that an order which
// Redis accepted and then lost still becomes a claim. Every instance runs one in each of its partitions.
//
// A reporter whose process was suspended may come too late. It then checks whether the rebuild found its orders without
// it, and if not, requests another rebuild.
//
// Each report is handed in on its own: a large, slow or refused one delays neither other reports nor heartbeats.
type Reporter struct {
	stores    ReporterStores
	partition int
	name      string
	admitted  Admitted
	repairs   order.RepairRequester
	log       *slog.Logger

	reports sync.WaitGroup // reports under way
	slots   chan struct{}  // a semaphore of maxReports

	heard  Heard     // the last heartbeat's answer
	sentAt time.Time // when that heartbeat was sent

	mu       sync.Mutex
	reported map[int64]int64 // the round (Round.Stopped) that has this instance's report, or is getting it
	failed   []Round         // rounds whose reports must be retried
}

// ReporterStores are the stores of a Reporter.
type ReporterStores struct {
	Reports ReportStore
	Holders order.HolderReader
	Rows    order.Reader
}

// NewReporter returns the reporter of one partition. The name is unique to the process.
func NewReporter(
	stores ReporterStores, partition int, name string, admitted Admitted,
	repairs order.RepairRequester, log *slog.Logger,
) *Reporter {
	return &Reporter{
		stores: stores, partition: partition, name: name, admitted: admitted, repairs: repairs, log: log,
		slots: make(chan struct{}, maxReports), reported: make(map[int64]int64),
	}
}

// Run reports until ctx ends. It never returns an error: it retries every failure.
func (r *Reporter) Run(ctx context.Context) error {
	defer r.reports.Wait()
	logged := false // whether the failure is logged; Redis may be away for long
	beat := func(ctx context.Context) {
		if err := r.heartbeat(ctx); err == nil {
			logged = false
		} else if !logged && ctx.Err() == nil {
			logged = true
			r.log.WarnContext(ctx, "heartbeat of the recovery reports failed; retrying", "error", err)
		}
	}
	beat(ctx)
	return periodic.Every(ctx, heartbeatEvery, beat)
}

// heartbeat sends one heartbeat and begins the reports that are due.
func (r *Reporter) heartbeat(ctx context.Context) error {
	sent := time.Now()
	r.heard.Ago = sent.Sub(r.sentAt)
	call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
	heard, err := r.stores.Reports.Heartbeat(call, r.partition, r.name, r.heard)
	cancel()
	if err != nil {
		return err
	}
	r.heard, r.sentAt = heard, sent
	due, ids := r.due(heard)
	if len(due) == 0 {
		return nil
	}
	accepts := r.admitted.RecentAccepts(ids...) // of all sales at once, since each call scans all recent accepts
	for _, round := range due {
		r.reports.Go(func() { r.tryReport(ctx, round, accepts[round.Sale.VoucherID]) })
	}
	return nil
}

// due returns the rounds that have no report of this instance yet, and marks them as being reported. It forgets rounds
// that are over.
func (r *Reporter) due(heard Heard) (due []Round, ids []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := heard.Now - RoundTTL.Milliseconds()
	maps.DeleteFunc(r.reported, func(_ int64, stopped int64) bool { return stopped < over })
	take := func(round Round) {
		due, ids = append(due, round), append(ids, round.Sale.VoucherID)
		r.reported[round.Sale.VoucherID] = round.Stopped
	}
	for _, round := range heard.Rounds {
		if r.reported[round.Sale.VoucherID] != round.Stopped {
			take(round)
		}
	}
	for _, round := range r.failed {
		if _, again := r.reported[round.Sale.VoucherID]; !again && round.Stopped >= over {
			take(round)
		}
	}
	r.failed = nil
	return due, ids
}

// tryReport hands in one report. A failed one is due again at the next heartbeat.
func (r *Reporter) tryReport(ctx context.Context, round Round, claims []order.Claim) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return
	}
	err := r.report(ctx, round, claims)
	if err == nil {
		return
	}
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, "recovery report failed; retrying", "voucher", round.Sale.VoucherID, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reported[round.Sale.VoucherID] == round.Stopped {
		delete(r.reported, round.Sale.VoucherID)
		r.failed = append(r.failed, round)
	}
}

// report hands in this instance's memory of the sale. If it comes too late and the rebuild has missed orders, it
// requests a repair.
func (r *Reporter) report(ctx context.Context, round Round, claims []order.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	report := Report{Seen: r.admitted.Seen(round.Sale.VoucherID), Claims: claims}
	inTime, epoch, err := r.stores.Reports.SubmitReport(ctx, round, r.name, report)
	if err != nil || inTime || len(report.Claims) == 0 {
		return err
	}
	lost, err := r.countLost(ctx, round.Sale, report.Claims)
	if err != nil || lost == 0 {
		return err
	}
	r.log.ErrorContext(ctx,
		"a rebuild did not wait for this instance and missed accepted orders; requesting another rebuild",
		"voucher", round.Sale.VoucherID, "orders", lost)
	r.repairs.RequestRepair(round.Sale.VoucherID, epoch)
	return nil
}

// countLost counts the claims that have neither a row nor a holder.
func (r *Reporter) countLost(ctx context.Context, sale order.SaleRef, claims []order.Claim) (int, error) {
	lost := 0
	for part := range slices.Chunk(claims, order.MaxOrderIDs) {
		ids, users := make([]int64, len(part)), make([]int64, len(part))
		for i, c := range part {
			ids[i], users[i] = c.OrderID, c.UserID
		}
		held, err := r.stores.Holders(ctx, sale, users)
		if err != nil {
			return 0, err
		}
		recorded, err := r.stores.Rows.Recorded(ctx, ids)
		if err != nil {
			return 0, fmt.Errorf("reading the ledger: %w", err)
		}
		for i, c := range part {
			if _, has := recorded[c.OrderID]; !has && held[i] != c.OrderID {
				lost++
			}
		}
	}
	return lost, nil
}

package gate

import (
	"errors"
	"fmt"

	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Request is one user's request for units. OrderID is the id that the order gets if the request is accepted. If it is
// 0, the user may not enter, and the answer only names the order that they already have.
type Request struct {
	UserID, OrderID int64
	Quantity        order.Quantity
	Trace           trace.Parent // of the user's request, if it is followed
}

// MaxBatch is how many requests a call of the admission script has at most.
const MaxBatch = 256

// MaxSales is how many sales a call of the admission script decides at most. While Redis runs a call it serves nobody
// else.
const MaxSales = 64

// Batch is the requests for one sale in a call of the admission script, MaxBatch at most.
type Batch struct {
	Sale       order.SaleRef
	Known      order.Mark // the highest mark that the caller has seen
	MaxBacklog int64      // admit nobody while at least this many orders of the partition wait to be recorded
	Requests   []Request
}

// BatchResult is the script's answer to a Batch.
type BatchResult struct {
	View    order.SaleView
	Results []Result // one for each request, in order
	// Err says why this batch alone has no answer; the others of its call have theirs. If it wraps
	// order.ErrUnavailable, the batch certainly had no effect.
	Err error
}

// ErrApart means that a call of several sales had no effect, and that each sale needs a call of its own.
var ErrApart = errors.New("the sales of the call need a call each")

// Result is the answer to one request.
type Result struct {
	Outcome  Outcome
	OrderID  int64          // for AlreadyBought: the user's existing order
	Quantity order.Quantity // of that order
	Left     int64          // for NotEnough: units that were left
}

// Err returns the error for the caller of the purchase; nil for an accepted request.
func (r Result) Err() error {
	switch r.Outcome {
	case AlreadyBought:
		return &AlreadyBoughtError{OrderID: r.OrderID, Quantity: r.Quantity, Status: order.StatusUnknown}
	case NotEnough:
		return &NotEnoughError{Left: r.Left}
	default:
		return r.Outcome.row().err
	}
}

// Outcome is how admission decides a request. Numbers from 0 on are the codes of scripts/seckill.lua. The script never
// returns a negative one: Unreadable stands for an answer that cannot be read, and those below it for no answer.
// outcomeRows has the consequences of each outcome.
type Outcome int8

// The outcomes: first the script's, in the order in which it decides them, then the others.
const (
	// The units were taken and the order is in the stream, by this call or by an earlier one for the same order.
	Accepted      Outcome = 0
	AlreadyBought Outcome = 1  // the user has another order, OrderID
	NoSale        Outcome = 2  // Redis does not hold the sale
	LostTail      Outcome = 3  // Redis answers with less than the known mark
	Rebuilding    Outcome = 4  // the sale is being rebuilt
	OffShelf      Outcome = 5  // off the shelf
	Paused        Outcome = 6  // paused by an admin
	NotStarted    Outcome = 7  // before the window
	Ended         Outcome = 8  // after the window
	SoldOut       Outcome = 9  // no unit can be sold
	Backlogged    Outcome = 10 // too many orders wait in the stream
	NotEnough     Outcome = 11 // some units are left, but fewer than the request asks for
	Barred        Outcome = 12 // the user may not enter, and has no order
	CalledOff     Outcome = 13 // the sale was called off; decided before OffShelf

	Unreadable Outcome = -1 // the script's answer to this request is neither a known code nor an order id
	// Units may have been taken: no answer came, or the first call got no answer and its repetition was refused.
	Doubtful    Outcome = -2
	Unavailable Outcome = -3 // nothing was taken: the call certainly had no effect, or too many already wait
)

// The errors of refused requests, besides voucher.ErrOffShelf, voucher.ErrCalledOff, order.ErrUnavailable and
// order.ErrUnknownOutcome.
var (
	// ErrNotStarted: the sale has not begun, by Redis's clock.
	ErrNotStarted = errors.New("sale has not started")
	// ErrEnded: the sale is over, by Redis's clock.
	ErrEnded = errors.New("sale has ended")
	// ErrSoldOut: at some moment during the call no unit could be sold.
	ErrSoldOut = errors.New("sold out")
	// ErrPaused: an admin has paused the sale, or it is being rebuilt. Retry shortly.
	ErrPaused = errors.New("sale is paused")

	// ErrBarred: a guard stopped the request, and its user has no order in the sale.
	ErrBarred = errors.New("may not enter")

	errBacklogged = fmt.Errorf("%w: too many orders wait to be recorded", order.ErrUnavailable)
)

// AlreadyBoughtError says that the user already has a live order for this voucher, and names it.
type AlreadyBoughtError struct {
	OrderID  int64
	Quantity order.Quantity
	Status   order.Status // order.StatusUnknown when the ledger could not be asked
}

func (e *AlreadyBoughtError) Error() string {
	return fmt.Sprintf("already bought: order %d is %s", e.OrderID, e.Status)
}

// NotEnoughError says that some units are left, but fewer than the request asks for.
type NotEnoughError struct{ Left int64 }

func (e *NotEnoughError) Error() string { return fmt.Sprintf("only %d units are left", e.Left) }

// outcomeRow is one outcome with all its consequences.
type outcomeRow struct {
	outcome Outcome
	word    string // in metrics: the code's name in scripts/seckill.lua, in lower case
	answer  Answer // the answer under which the sale's counts count it
	err     error  // the error for the caller, a prototype for AlreadyBought and NotEnough; nil for Accepted
	repair  Repair
	final   bool // holds even if an earlier call for the same request reaches Redis later
}

// outcomeRows is the one table of what admission can answer. The script, metrics, counts, HTTP and the pages are
// generated from it or tested against it. A row's index is its outcome; negative outcomes count from the end.
//
// A new refusal needs a code in scripts/seckill.lua, its constant, error and row here, a rule in
// internal/httpapi/shop/errors.go and its description in web/openapi.yaml; then make docs. Tests say what is missing.
var outcomeRows = [...]outcomeRow{
	{outcome: Accepted, word: "accepted", answer: "accepted", final: true},
	{outcome: AlreadyBought, word: "already_bought", answer: "already_bought", err: &AlreadyBoughtError{}, final: true},
	{outcome: NoSale, word: "no_sale", answer: "paused", err: ErrPaused, repair: RepairSale},
	{outcome: LostTail, word: "lost_tail", answer: "paused", err: ErrPaused, repair: RepairEpoch},
	{outcome: Rebuilding, word: "rebuilding", answer: "paused", err: ErrPaused, repair: RepairSale},
	{outcome: OffShelf, word: "off_shelf", answer: "off_shelf", err: voucher.ErrOffShelf},
	{outcome: Paused, word: "paused", answer: "paused", err: ErrPaused},
	{outcome: NotStarted, word: "not_started", answer: "not_started", err: ErrNotStarted},
	{outcome: Ended, word: "ended", answer: "ended", err: ErrEnded, final: true},
	{outcome: SoldOut, word: "sold_out", answer: "sold_out", err: ErrSoldOut},
	{outcome: Backlogged, word: "backlogged", answer: "unavailable", err: errBacklogged},
	{outcome: NotEnough, word: "not_enough", answer: "not_enough", err: &NotEnoughError{}},
	{outcome: Barred, word: "barred", answer: NoAnswer, err: ErrBarred, final: true},
	{outcome: CalledOff, word: "called_off", answer: "called_off", err: voucher.ErrCalledOff, final: true},

	{outcome: Unavailable, word: "unavailable", answer: "unavailable", err: order.ErrUnavailable},
	{outcome: Doubtful, word: "doubtful", answer: "unknown_outcome", err: order.ErrUnknownOutcome},
	{outcome: Unreadable, word: "other", answer: "unknown_outcome", err: order.ErrUnknownOutcome},
}

// OutcomeKinds is how many outcomes there are.
const OutcomeKinds = len(outcomeRows)

// Refused reports whether an error means that the call certainly bought nothing.
func Refused(err error) bool {
	for i := range outcomeRows {
		row := &outcomeRows[i]
		switch want := row.err.(type) { //nolint:errorlint // the table has these errors themselves, none wraps another
		case nil:
		case *AlreadyBoughtError:
			if errors.As(err, &want) {
				return true
			}
		case *NotEnoughError:
			if errors.As(err, &want) {
				return true
			}
		default:
			if !errors.Is(want, order.ErrUnknownOutcome) && errors.Is(err, want) {
				return true
			}
		}
	}
	return false
}

// Outcomes returns all outcomes: those of the script in its order, then the others.
func Outcomes() []Outcome {
	all := make([]Outcome, OutcomeKinds)
	for i := range outcomeRows {
		all[i] = outcomeRows[i].outcome
	}
	return all
}

// ScriptOutcome returns the outcome for a code of scripts/seckill.lua; Unreadable for an unknown code.
func ScriptOutcome(code int64) Outcome {
	if code < 0 || code >= int64(OutcomeKinds) {
		return Unreadable
	}
	return Outcome(code).row().outcome
}

// row returns the outcome's row; Unreadable's row for a number that is no outcome.
func (o Outcome) row() *outcomeRow { return &outcomeRows[o.Index()] }

// Index numbers the outcomes from 0 to OutcomeKinds-1, for arrays of counts.
func (o Outcome) Index() int {
	i := int(o)
	if i < 0 {
		i += OutcomeKinds
	}
	if i < 0 || i >= OutcomeKinds || outcomeRows[i].outcome != o {
		return OutcomeKinds + int(Unreadable)
	}
	return i
}

// String returns the outcome's word in metrics.
func (o Outcome) String() string { return o.row().word }

// Answer returns the answer under which the outcome is counted for its sale.
func (o Outcome) Answer() Answer { return o.row().answer }

// Repair returns what the reconciler must do about the sale after this outcome.
func (o Outcome) Repair() Repair { return o.row().repair }

// Final reports whether the outcome of a repeated call stays true even if the first call reaches Redis later.
func (o Outcome) Final() bool { return o.row().final }

// Repair is what the reconciler must do about a sale after an outcome.
type Repair int8

// The repairs.
const (
	NoRepair    Repair = iota
	RepairSale         // rebuild the sale if it is still missing or stopped
	RepairEpoch        // Redis lost something: rebuild the sale if it is still at the epoch that the script returned
)

// Answer groups outcomes for a sale's counts. It is the code of the HTTP answer in lower case, and stored in Redis.
type Answer string

// NoAnswer marks an outcome that is not counted here: the guard that barred the request counts it.
const NoAnswer Answer = ""

// Answers returns every answer once.
func Answers() []Answer {
	var all []Answer
	seen := make(map[Answer]bool, OutcomeKinds)
	for i := range outcomeRows {
		if a := outcomeRows[i].answer; !seen[a] && a != NoAnswer {
			seen[a] = true
			all = append(all, a)
		}
	}
	return all
}

// Counts is how often each answer was given. Answers that were not given are missing.
type Counts map[Answer]int64

// Minus returns c minus o: the answers that were counted after o.
func (c Counts) Minus(o Counts) Counts {
	since := Counts{}
	for answer, n := range c {
		if n != o[answer] {
			since[answer] = n - o[answer]
		}
	}
	return since
}

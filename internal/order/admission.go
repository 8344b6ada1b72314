package order

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// Gate lets applicants into a sale: scripts/seckill.lua in Redis.
type Gate interface {
	// Admit runs the admission script once, without a retry of its own. Repeating the identical batch is safe: it admits
	// nobody twice and tells again who was admitted. An error that wraps ErrUnavailable says that the batch certainly had no effect; after any
	// other error it may have had one.
	Admit(ctx context.Context, b Batch) (Verdict, error)
}

// Mender has a sale that was found wrong rebuilt: Complaints.
type Mender interface {
	// Mend asks for the sale to be looked at, and rebuilt if Redis does not hold it as the ledger's epoch says, or if
	// it is no newer than broken. It does not wait.
	Mend(voucherID, broken int64)
}

// Winners reads who holds a place in a sale: redisstore.Store.
type Winners interface {
	// Holders yields who holds a place, at least all who hold it from the call to its end. One may come twice. It stops
	// after the first error.
	Holders(ctx context.Context, sale SaleRef) iter.Seq2[Claim, error]
}

const (
	tryTime     = time.Second // one try of the admission script
	freshFor    = time.Second // how long a sighting may be used to answer without asking
	clockMargin = time.Second // by how much a local estimate of Redis's clock may be wrong
)

// Admission decides who gets into a sale: it keeps a line in front of each sale that people ask for.
type Admission struct {
	stores   AdmissionStores
	catalog  *Catalog
	diary    *Diary
	mender   Mender
	observer Observer
	log      *slog.Logger
	limit    int64

	serving sync.WaitGroup
	closing chan struct{}
	lines   sync.Map // voucher id → *line
}

// AdmissionStores are the stores of an Admission.
type AdmissionStores struct {
	Gate    Gate
	Winners Winners
	Rows    Rows
}

// NewAdmission returns an admission that lets nobody in while maxBacklog orders wait to be recorded. It writes into the
// diary whom it lets in.
func NewAdmission(stores AdmissionStores, catalog *Catalog, diary *Diary, mender Mender, observer Observer, maxBacklog int64, log *slog.Logger) *Admission {
	return &Admission{
		stores: stores, catalog: catalog, diary: diary, mender: mender, observer: observer, log: log, limit: maxBacklog,
		closing: make(chan struct{}),
	}
}

// Apply asks for a place for the user in the voucher's sale, under the given order id. It returns nil when he got in;
// *AlreadyBoughtError (its Status not yet filled in) when he has another order; or a sentinel of this package or of
// voucher.
func (a *Admission) Apply(ctx context.Context, voucherID int64, who Applicant) error {
	v, err := a.catalog.Find(ctx, voucherID)
	if err != nil {
		return err
	}
	if v.Sale == nil {
		return voucher.ErrNotSeckill
	}
	if v.Sale.Retired {
		a.lines.Delete(voucherID)
		return a.afterRetirement(ctx, BuyerKey{VoucherID: voucherID, UserID: who.UserID})
	}
	l := a.line(v)
	if tooEarly(l.last.Load()) {
		l.tally.early.Add(1)
		return ErrNotStarted
	}
	recorded := Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}
	switch l.recall(who.UserID, recorded) {
	case soldOut:
		l.tally.remembered.Add(1)
		return ErrSoldOut
	case renewMemory:
		defer l.memory.renewed.Store(false)
	case askRedis:
	}
	outcome, err := l.join(ctx, who, recorded)
	if err != nil {
		return err
	}
	return a.result(v, l, outcome)
}

// Seen implements Sightings: the highest mark of the sale that Redis has answered with, the zero one without any.
func (a *Admission) Seen(voucherID int64) Mark {
	found, ok := a.lines.Load(voucherID)
	if !ok {
		return Mark{}
	}
	l := found.(*line)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// Close waits for the calls under way. No Apply may begin after it. It is called once.
func (a *Admission) Close() {
	close(a.closing) // what is only loaded to be remembered is not waited for
	a.serving.Wait()
}

func (a *Admission) line(v voucher.Voucher) *line {
	if l, ok := a.lines.Load(v.ID); ok {
		return l.(*line)
	}
	l, _ := a.lines.LoadOrStore(v.ID, &line{
		admit: a.admit, sale: saleRef(v), limit: a.limit, tries: tryTime, serving: &a.serving,
		diary: a.diary,
		memory: memory{
			source: a.stores.Winners, sale: saleRef(v), log: a.log, serving: &a.serving, closing: a.closing, pause: newPause(),
		},
	})
	return l.(*line)
}

func (a *Admission) admit(ctx context.Context, b Batch) (Verdict, error) {
	start := time.Now()
	verdict, err := a.stores.Gate.Admit(ctx, b)
	a.observer.Admitted(verdict.Outcomes, time.Since(start), err)
	return verdict, err
}

// tooEarly reports whether a sighting proves that the sale has not begun and that nobody has a place in it, so that
// the answer needs no question to Redis (rules 2 and 12).
func tooEarly(s *sighting) bool {
	return s != nil && time.Since(s.heard) < freshFor &&
		s.view.Mode == SaleOpen && s.view.Buyers == 0 &&
		s.now().Before(s.view.Begin.Add(-clockMargin))
}

func (a *Admission) result(v voucher.Voucher, l *line, o Outcome) error {
	switch o.Code {
	case Accepted:
		return nil
	case AlreadyBought:
		return &AlreadyBoughtError{OrderID: o.OrderID, Status: StatusUnknown}
	case LostTail:
		// The script may have been unable to stop the sale (out of memory), so the epoch itself is reported.
		a.mender.Mend(v.ID, l.last.Load().view.Mark.Epoch)
		return ErrPaused
	case NoSale, Rebuilding:
		// Somebody has to rebuild it. The keeper also notices a voucher that was retired since it was remembered.
		a.mender.Mend(v.ID, NotBroken)
		return ErrPaused
	case Unreadable, Doubtful:
		return ErrUnknownOutcome
	case NotOnShelf:
		return voucher.ErrOffShelf
	case Paused:
		return ErrPaused
	case NotStarted:
		return ErrNotStarted
	case Ended:
		return ErrEnded
	case SoldOut:
		return ErrSoldOut
	case Backlogged:
		return fmt.Errorf("%w: too many orders wait to be recorded", ErrUnavailable)
	default:
		return fmt.Errorf("admission script answered with the unknown code %d", o.Code)
	}
}

// afterRetirement answers for a sale that Redis no longer holds: winners are still told their order.
func (a *Admission) afterRetirement(ctx context.Context, key BuyerKey) error {
	o, err := a.stores.Rows.LiveOrder(ctx, key)
	switch {
	case err == nil:
		return &AlreadyBoughtError{OrderID: o.ID, Status: o.Status}
	case errors.Is(err, ErrNotFound):
		return ErrEnded
	default:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

package order

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	cryEvery = time.Second
	cryTime  = time.Second // how long telling of one sale may take
)

// Board is where all instances together keep what applicants were told: Redis.
type Board interface {
	// Add adds to the sale's counts. ErrUnavailable says that certainly nothing was added.
	Add(ctx context.Context, sale SaleRef, since Counts) error
}

// CrierObserver hears how many applicants were refused without a question to Redis since it heard last. Its method must
// not block.
type CrierObserver interface {
	Remembered(soldOut, notStarted int64)
}

// Crier adds once a second what this instance has told its applicants to what the others have told theirs, so that whoever
// watches a sale sees all of it. A count whose arrival is not known is not told again: what people read may lack a
// second of one instance, and is never too high.
type Crier struct {
	admission *Admission
	board     Board
	observer  CrierObserver
	log       *slog.Logger
	failing   bool
}

// NewCrier returns a crier of what the admission tells.
func NewCrier(admission *Admission, board Board, observer CrierObserver, log *slog.Logger) *Crier {
	return &Crier{admission: admission, board: board, observer: observer, log: log}
}

// Run cries until ctx ends, and a last time then.
func (c *Crier) Run(ctx context.Context) error {
	ticker := time.NewTicker(cryEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			c.cry(context.WithoutCancel(ctx))
			return nil
		case <-ticker.C:
			c.cry(ctx)
		}
	}
}

// cry tells everybody what is new. After a failure the rest waits for the next time: Redis would keep each waiting.
func (c *Crier) cry(ctx context.Context) {
	var failed error
	c.admission.lines.Range(func(_, l any) bool {
		line := l.(*line)
		all, soldOut, notStarted := line.tally.counts()
		told := &line.tally.told
		c.observer.Remembered(soldOut-told.soldOut, notStarted-told.notStarted)
		told.soldOut, told.notStarted = soldOut, notStarted
		since := all.less(told.all)
		if since == (Counts{}) || failed != nil {
			return true
		}
		telling, cancel := context.WithTimeout(ctx, cryTime)
		defer cancel()
		if failed = c.board.Add(telling, line.sale, since); !errors.Is(failed, ErrUnavailable) {
			told.all = all
		}
		return true
	})
	if failed != nil && !c.failing {
		c.log.WarnContext(ctx, "what applicants were told could not be shared; it is tried every second", "error", failed)
	}
	c.failing = failed != nil
}

package order

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Both halves of rule 11 (docs/architecture.md): no unit that comes back to a sold-out sale can be sold before every
// instance has forgotten that there was none.
const (
	// SoldOutMemory is for how long an instance answers ErrSoldOut from memory, from when it asked Redis.
	SoldOutMemory = time.Second
	// ReturnDelay is how long a unit that comes back to a sold-out sale waits until it can be sold, by Redis's clock. The
	// hundredth more is for whole milliseconds, which that clock is read in, and for clocks that do not run alike.
	ReturnDelay = SoldOutMemory + SoldOutMemory/100
)

const (
	loadTime  = 30 * time.Second // loading the winners of one sale may take
	loadPause = 5                // at most a sixth of the time is spent loading a sale's winners
)

// memory is what an instance remembers of a sold-out sale, so that most of those who come too late are answered
// without a question to Redis: that there was nothing to sell when it asked last (the line's sighting), and who has a
// place, for they are to be told their order (rule 2) and so go to Redis.
//
// The set of winners cannot grow while the sale stays at one mark: admissions and revivals raise the sequence, rebuilds
// the epoch. So it is loaded once for each mark, in the background, and is right for as long as sightings show that mark.
// What is remembered of the sale itself ends after SoldOutMemory. The question that renews it is an ordinary applicant's:
// once half of the time is over, one goes to Redis at a time while all others are still answered from memory.
type memory struct {
	source  Winners
	sale    SaleRef
	log     *slog.Logger
	serving *sync.WaitGroup // counts loading goroutines, for a clean stop
	closing <-chan struct{} // ends them

	winners atomic.Pointer[roster]
	renewed atomic.Bool // an applicant is on his way to renew the memory

	mu      sync.Mutex
	loading bool
	rested  time.Time                   // no loading before
	pause   *backoff.ExponentialBackOff // after loading failed
}

// roster is who had a place in a sale at a mark.
type roster struct {
	mark  Mark
	users []int64 // ascending, each once: eight bytes for each winner, which may be a million
}

func (r *roster) has(user int64) bool {
	_, found := slices.BinarySearch(r.users, user)
	return found
}

// recollection is what the memory says to an applicant.
type recollection int8

const (
	askRedis recollection = iota
	// renewMemory: ask Redis, and set memory.renewed to false once it has answered.
	renewMemory
	soldOut
)

// recall says whether an applicant can be told ErrSoldOut from memory; recorded is how far the sale has got in the
// ledger. It takes no lock and allocates nothing.
func (l *line) recall(user int64, recorded Mark) recollection {
	seen, winners := l.last.Load(), l.memory.winners.Load()
	if seen == nil || winners == nil {
		return askRedis
	}
	age := time.Since(seen.asked)
	switch {
	case age >= SoldOutMemory, !seen.soldOut(), seen.view.Mark != winners.mark, seen.view.Mark.Before(recorded):
		return askRedis
	case seen.view.Buyers > int64(len(winners.users)): // not all places could be read
		return askRedis
	case winners.has(user):
		return askRedis
	case age >= SoldOutMemory/2 && l.memory.renewed.CompareAndSwap(false, true):
		return renewMemory
	default:
		return soldOut
	}
}

// soldOut reports whether there was nothing to sell inside the window, nor any unit that waits to be sold.
func (s *sighting) soldOut() bool {
	v := &s.view
	return v.Mode == SaleOpen && v.Stock <= 0 && !v.Now.Before(v.Begin) && v.Now.Before(v.End)
}

// saw has the winners loaded once a sale has sold out, and lets those of an older mark go.
func (m *memory) saw(ctx context.Context, s *sighting) {
	if winners := m.winners.Load(); winners != nil {
		if winners.mark == s.view.Mark {
			return
		}
		m.winners.Store(nil)
	}
	if !s.soldOut() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loading || time.Now().Before(m.rested) {
		return // the next sighting asks again
	}
	m.loading = true
	m.serving.Go(func() { m.load(ctx, s.view) })
}

// load reads the winners of a sale that was sold out in the view. It begins after Redis gave that view: whoever had a
// place then and still has it is found.
func (m *memory) load(ctx context.Context, view SaleView) {
	start := time.Now()
	users, err := m.read(ctx, view.Buyers)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loading = false
	select {
	case <-m.closing:
		return
	default:
	}
	if err != nil {
		pause := m.pause.NextBackOff()
		m.rested = time.Now().Add(pause)
		m.log.WarnContext(ctx, "the winners of a sold-out sale could not be loaded; all ask Redis until they are",
			"voucher", m.sale.VoucherID, "pause", pause, "error", err)
		return
	}
	m.pause.Reset()
	m.rested = time.Now().Add(loadPause * time.Since(start))
	m.winners.Store(&roster{mark: view.Mark, users: users})
}

// read returns who has a place, about as many as given.
func (m *memory) read(ctx context.Context, about int64) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	m.serving.Go(func() {
		select {
		case <-m.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	users := make([]int64, 0, about)
	for claim, err := range m.source.Holders(ctx, m.sale) {
		if err != nil {
			return nil, fmt.Errorf("reading the places: %w", err)
		}
		users = append(users, claim.UserID)
	}
	slices.Sort(users)
	return slices.Clip(slices.Compact(users)), nil
}

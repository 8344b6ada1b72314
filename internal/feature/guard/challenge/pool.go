package challenge

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

const (
	// PoolDepth is how many puzzles of each counter are kept: a mebibyte for all, once the hardest challenges are
	// asked for.
	PoolDepth = 256
	// workFor is how long the maker works before it rests as long: half of one processor, whatever comes.
	workFor = 5 * time.Millisecond
	// poolWait is how long a caller waits for a puzzle, and poolWaiting is how many may.
	poolWait    = 500 * time.Millisecond
	poolWaiting = 32
	// draws is how many counters are drawn until one is found of which there is a puzzle.
	draws = 4
)

// puzzle is what a challenge takes a try of scrypt to make. It is given to one caller: who knows the answer may tell
// it.
type puzzle struct {
	nonce, salt [randomBytes]byte
	key         [keyLength]byte
}

// pool has puzzles that were made before they are asked for, by their counters, so that asking costs no scrypt, and
// no number of callers costs more of the processor than the maker's half. It is empty, and costs nothing, until a
// challenge is asked for.
type pool struct {
	depth   int           // how many puzzles of each counter are kept
	wanted  chan struct{} // the maker has something to do
	waiting chan struct{}

	mu     sync.Mutex
	most   int // the hardest difficulty that was asked for
	ready  [guards.MaxDifficulty][]puzzle
	filled chan struct{} // closed when a puzzle was made
}

func newPool(depth int) *pool {
	return &pool{
		depth: depth, wanted: make(chan struct{}, 1), waiting: make(chan struct{}, poolWaiting),
		filled: make(chan struct{}),
	}
}

// take returns a puzzle whose counter is drawn evenly below the difficulty. ErrBusy.
func (p *pool) take(ctx context.Context, difficulty int) (puzzle, error) {
	found, more := p.try(difficulty)
	if found != nil {
		return *found, nil
	}
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return puzzle{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, poolWait)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return puzzle{}, ErrBusy
		case <-more:
		}
		if found, more = p.try(difficulty); found != nil {
			return *found, nil
		}
	}
}

// try returns a puzzle, or nil and what is closed when there is another.
func (p *pool) try(difficulty int) (*puzzle, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = max(p.most, difficulty)
	defer p.want()
	for range draws {
		of := &p.ready[draw(difficulty)]
		if last := len(*of) - 1; last >= 0 {
			found := (*of)[last]
			*of = (*of)[:last]
			return &found, nil
		}
	}
	return nil, p.filled
}

func (p *pool) want() {
	select {
	case p.wanted <- struct{}{}:
	default:
	}
}

// run makes puzzles until ctx ends.
func (p *pool) run(ctx context.Context) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.wanted:
		}
		began := time.Now()
		if p.work(began) {
			p.want()
		}
		rest.Reset(time.Since(began))
	}
}

// work makes puzzles for a while, and reports whether more are missing.
func (p *pool) work(began time.Time) bool {
	for time.Since(began) < workFor {
		counter, missing := p.scarcest()
		if !missing {
			return false
		}
		p.put(counter, newPuzzle(counter))
	}
	return true
}

// scarcest returns the counter of which there are fewest.
func (p *pool) scarcest() (counter int, missing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fewest := p.depth
	for i := range p.most {
		if n := len(p.ready[i]); n < fewest {
			counter, fewest = i, n
		}
	}
	return counter, fewest < p.depth
}

func (p *pool) put(counter int, made puzzle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready[counter] = append(p.ready[counter], made)
	close(p.filled)
	p.filled = make(chan struct{})
}

func newPuzzle(counter int) puzzle {
	var made puzzle
	_, _ = rand.Read(made.nonce[:]) // it never fails: without randomness the program ends
	_, _ = rand.Read(made.salt[:])
	made.key = derive(made.nonce[:], made.salt[:], uint32(counter))
	return made
}

// draw returns a counter below the difficulty, each as likely: nobody gains by beginning elsewhere than at nought.
func draw(difficulty int) int {
	var b [1]byte
	for limit := 256 - 256%difficulty; ; {
		_, _ = rand.Read(b[:])
		if n := int(b[0]); n < limit {
			return n % difficulty
		}
	}
}

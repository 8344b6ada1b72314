package challenge

import (
	"context"
	"crypto/rand"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"seckill/internal/voucher/guards"
)

const (
	// PoolDepth is how many puzzles of each counter are kept: a mebibyte in all at the highest difficulty.
	PoolDepth = 256
	// workFor is how long the maker works before it rests for the same time, so that it uses at most half of one
	// processor.
	workFor = 5 * time.Millisecond
	// poolWait is how long a caller waits for a puzzle, and poolWaiting how many callers may wait.
	poolWait    = 500 * time.Millisecond
	poolWaiting = 32
	// reserveScore is the worst score with which a network may take from a full reserve. The emptier the reserve, the
	// better the score must be.
	reserveScore = 64
	// draws bounds how many counters are drawn to find one for which a puzzle is ready.
	draws = 4
)

// puzzle is the expensive part of a challenge, which costs a try of scrypt. Each is given to one caller only, because
// they could tell others the answer.
type puzzle struct {
	nonce, salt [randomBytes]byte
	key         [keyLength]byte
}

// pool holds puzzles made in advance, grouped by counter, so that a request for a puzzle costs no scrypt. However many
// callers there are, making their puzzles takes at most half of one processor core. The pool is empty, and costs
// nothing, until the first request for a challenge.
//
// When more puzzles are asked for than are made, networks take turns: those that ask and do not solve leave the reserve
// to the others. Waiting callers are served in the order of their network's standing, then of their arrival.
type pool struct {
	depth  int           // how many puzzles of each counter are kept
	wanted chan struct{} // wakes the maker

	mu       sync.Mutex
	most     int // the hardest difficulty that was asked for
	ready    [guards.MaxDifficulty][]puzzle
	stock    int       // how many puzzles are ready
	waiting  []*waiter // in the order of their arrival
	standing *standing // nil until a challenge is asked for
}

// waiter is a caller who waits for a puzzle.
type waiter struct {
	network    netip.Prefix
	difficulty int
	given      chan puzzle // closed without a puzzle: others come first
}

func newPool(depth int) *pool { return &pool{depth: depth, wanted: make(chan struct{}, 1)} }

// take returns a puzzle whose counter is drawn evenly below the difficulty, or ErrBusy.
func (p *pool) take(ctx context.Context, network netip.Prefix, difficulty int) (puzzle, error) {
	found, mine := p.ask(network, difficulty)
	switch {
	case found != nil:
		return *found, nil
	case mine == nil:
		return puzzle{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, poolWait)
	defer cancel()
	select {
	case made, is := <-mine.given:
		if !is {
			return puzzle{}, ErrBusy
		}
		return made, nil
	case <-ctx.Done():
		return p.leave(mine)
	}
}

// ask returns a puzzle from the reserve, or the caller's place in the queue; neither if the queue is full of callers
// with a better score.
func (p *pool) ask(network netip.Prefix, difficulty int) (*puzzle, *waiter) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standing == nil {
		p.standing = newStanding()
	}
	p.most = max(p.most, difficulty)
	defer p.want()
	own := p.standing.of(network, now)
	if own < reserveScore*float64(p.stock)/float64(p.depth*p.most) {
		if found := p.fromReserve(difficulty); found != nil {
			p.standing.add(network, 1, now)
			return found, nil
		}
	}
	if len(p.waiting) >= poolWaiting {
		last := p.last(now)
		if own >= p.standing.of(p.waiting[last].network, now) {
			return nil, nil
		}
		close(p.waiting[last].given)
		p.waiting = slices.Delete(p.waiting, last, last+1)
	}
	mine := &waiter{network: network, difficulty: difficulty, given: make(chan puzzle, 1)}
	p.waiting = append(p.waiting, mine)
	return nil, mine
}

// fromReserve returns a puzzle that is ready, nil if it finds none.
func (p *pool) fromReserve(difficulty int) *puzzle {
	for range draws {
		of := &p.ready[draw(difficulty)]
		if last := len(*of) - 1; last >= 0 {
			found := (*of)[last]
			*of = (*of)[:last]
			p.stock--
			return &found
		}
	}
	return nil
}

// last returns the index of the waiter to be served last: the worst score, then the latest arrival.
func (p *pool) last(now time.Time) (last int) {
	worst := math.Inf(-1)
	for i, w := range p.waiting {
		if score := p.standing.of(w.network, now); score >= worst {
			last, worst = i, score
		}
	}
	return last
}

// leave removes a waiter. It returns the puzzle if one was assigned at the same moment.
func (p *pool) leave(mine *waiter) (puzzle, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, mine); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	select {
	case made, is := <-mine.given:
		if is {
			return made, nil
		}
	default:
	}
	return puzzle{}, ErrBusy
}

// next takes the waiter to be served first out of the queue; nil if nobody waits.
func (p *pool) next() *waiter {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	first, best := -1, math.Inf(1)
	for i, w := range p.waiting {
		if score := p.standing.of(w.network, now); score < best {
			first, best = i, score
		}
	}
	if first < 0 {
		return nil
	}
	w := p.waiting[first]
	p.waiting = slices.Delete(p.waiting, first, first+1)
	p.standing.add(w.network, 1, now)
	return w
}

// solved notes that a network has solved a puzzle.
func (p *pool) solved(network netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standing != nil {
		p.standing.add(network, -2, time.Now())
	}
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

// work makes puzzles for workFor, and reports whether more are missing.
func (p *pool) work(began time.Time) bool {
	for time.Since(began) < workFor {
		if w := p.next(); w != nil {
			w.given <- newPuzzle(draw(w.difficulty))
			continue
		}
		counter, missing := p.scarcest()
		if !missing {
			return false
		}
		p.put(counter, newPuzzle(counter))
	}
	return true
}

// scarcest returns the counter with the fewest puzzles.
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
	p.stock++
}

func newPuzzle(counter int) puzzle {
	var made puzzle
	_, _ = rand.Read(made.nonce[:]) // it never fails: without randomness the program ends
	_, _ = rand.Read(made.salt[:])
	made.key = derive(made.nonce[:], made.salt[:], uint32(counter))
	return made
}

// draw returns a counter below the difficulty, all with the same probability: starting the search elsewhere than at
// zero gains nothing.
func draw(difficulty int) int {
	var b [1]byte
	for limit := 256 - 256%difficulty; ; {
		_, _ = rand.Read(b[:])
		if n := int(b[0]); n < limit {
			return n % difficulty
		}
	}
}

package split_test

import (
	"fmt"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

// modelSale is a split sale as Redis and the ledger hold it, without a store. Each method is one atomic step of a script or of a
// transaction.
type modelSale struct {
	now    int64 // milliseconds
	total  int64
	shares []*modelShare
	looks  modelLooks
	judge  func(first, second split.Look) (soldOut, remember bool)
}

// modelShare is one share: first what Redis has, then what the ledger has.
type modelShare struct {
	rebuilding bool
	resumes    int64

	epoch, op, corrected, sequence int64
	movedOut, movedIn              int64
	stock, returned, returnedAt    int64
	reserved, reservedAt           int64 // number of the operation for which a unit is kept, and until when
	keptUntil, keptSince           int64 // by time and by sequence
	outcomes                       map[int64]bool
	units, sold                    int64
	ledgerOut, ledgerIn            int64
	ops                            []*modelOperation // the first is number 1
	snapshot                       *modelShare       // what a rebuild is going to publish
}

// modelOperation is a numbered operation of a share.
type modelOperation struct {
	kind      order.OperationKind
	delta     int64
	to        int   // of a move that takes: the share that is given
	completed bool  // or void
	gave      int64 // of a completed move that took: the number of the operation that gives
}

// The kinds that the model knows: moves have none in this package.
const modelMove order.OperationKind = "move"

func (o *modelOperation) takes() bool { return o.delta < 0 }

var returnDelay = order.ReturnDelay.Milliseconds()

func newModel(stock ...int64) *modelSale {
	m := &modelSale{judge: split.SoldOut}
	for _, units := range stock {
		m.total += units
		m.shares = append(m.shares, &modelShare{epoch: 1, stock: units, units: units, outcomes: map[int64]bool{}})
	}
	return m
}

// release puts returned units on sale whose time has come.
func (m *modelSale) release(s *modelShare) {
	if s.returned > 0 && m.now >= s.returnedAt {
		s.stock, s.returned = s.stock+s.returned, 0
	}
}

// buy is a purchase in a share, and whether it got a unit.
func (m *modelSale) buy(i int) bool {
	s := m.shares[i]
	if s.rebuilding || m.now < s.resumes {
		return false
	}
	m.release(s)
	if s.stock == 0 {
		return false
	}
	s.stock--
	s.sequence++
	s.units, s.sold = s.units-1, s.sold+1
	return true
}

// giveBack is what apply.lua and correct.lua do with a unit that comes back.
func (m *modelSale) giveBack(s *modelShare) {
	m.release(s)
	switch {
	case s.stock > 0:
		s.stock++
	case s.returned > 0:
		s.returned++
	default:
		s.returned, s.returnedAt = 1, m.now+returnDelay
	}
}

// cancel commits the return of a unit.
func (m *modelSale) cancel(i int) {
	if s := m.shares[i]; s.sold > 0 {
		s.units, s.sold = s.units+1, s.sold-1
		s.ops = append(s.ops, &modelOperation{kind: order.Cancellation, delta: 1})
	}
}

// correct is the recorder's: an order failed.
func (m *modelSale) correct(i int) {
	if s := m.shares[i]; s.sold > 0 && !s.rebuilding {
		s.units, s.sold = s.units+1, s.sold-1
		m.giveBack(s)
		s.corrected++
	}
}

// revive commits that a late payment wants a unit.
func (m *modelSale) revive(i int) {
	m.shares[i].ops = append(m.shares[i].ops, &modelOperation{kind: order.Revival, delta: -1})
}

// move commits that units are to go from one share to another.
func (m *modelSale) move(from, to int, units int64) {
	m.shares[from].ops = append(m.shares[from].ops, &modelOperation{kind: modelMove, delta: -units, to: to})
}

// apply has Redis apply the next operation of a share. Sent again, it changes nothing.
func (m *modelSale) apply(i int) {
	s := m.shares[i]
	if s.rebuilding || s.op == int64(len(s.ops)) {
		return
	}
	op, number := s.ops[s.op], s.op+1
	m.release(s)
	done := true
	switch {
	case op.kind == modelMove && op.takes():
		kept := m.now < s.keptUntil && s.sequence == s.keptSince
		if done = s.stock >= -op.delta && m.now >= s.resumes && !kept; done {
			s.stock += op.delta
			s.movedOut -= op.delta
		}
	case op.kind == modelMove:
		s.stock += op.delta
		s.movedIn += op.delta
		s.keptUntil, s.keptSince = m.now+split.KeepFor.Milliseconds(), s.sequence
	case op.takes():
		if s.reserved == number && m.now < s.reservedAt {
			return
		}
		if done = m.reviveFrom(s, number); s.reserved == number {
			return
		}
	default:
		m.giveBack(s)
	}
	s.op, s.outcomes[number] = number, done
}

// reviveFrom takes a unit for a late payment, or reserves one that waits.
func (m *modelSale) reviveFrom(s *modelShare, number int64) bool {
	switch {
	case s.reserved == number:
		s.reserved = 0
	case s.stock > 0 && m.now >= s.resumes:
		s.stock--
	case s.stock > 0:
		s.stock--
		s.reserved, s.reservedAt = number, s.resumes
	case s.returned > 0:
		s.returned--
		s.reserved, s.reservedAt = number, s.returnedAt
	default:
		return false
	}
	s.sequence++
	return true
}

// complete settles in the ledger what Redis said of an operation, however late: what is completed or void stays so.
func (m *modelSale) complete(i int, number int64) {
	s := m.shares[i]
	taken, known := s.outcomes[number]
	op := s.ops[number-1]
	if !known || op.completed {
		return
	}
	op.completed = true
	switch {
	case !taken || !op.takes():
	case op.kind == modelMove:
		to := m.shares[op.to]
		s.units, s.ledgerOut = s.units+op.delta, s.ledgerOut-op.delta
		to.units, to.ledgerIn = to.units-op.delta, to.ledgerIn-op.delta
		to.ops = append(to.ops, &modelOperation{kind: modelMove, delta: -op.delta})
		op.gave = int64(len(to.ops))
	default:
		s.units, s.sold = s.units-1, s.sold+1
	}
}

// rebuild takes the next step of a share's rebuild: it is stopped, the ledger is read, it is published.
func (m *modelSale) rebuild(i int) {
	s := m.shares[i]
	switch {
	case !s.rebuilding:
		s.rebuilding, s.resumes = true, m.now+returnDelay
	case s.snapshot == nil:
		for _, op := range s.ops { // what takes is void, what gives is contained
			op.completed = true
		}
		s.snapshot = &modelShare{stock: s.units, op: int64(len(s.ops)), movedOut: s.ledgerOut, movedIn: s.ledgerIn}
	default:
		s.epoch, s.sequence, s.rebuilding = s.epoch+1, 0, false
		s.stock, s.op, s.movedOut, s.movedIn = s.snapshot.stock, s.snapshot.op, s.snapshot.movedOut, s.snapshot.movedIn
		s.returned, s.reserved, s.keptUntil, s.corrected = 0, 0, 0, 0
		s.outcomes, s.snapshot = map[int64]bool{}, nil
	}
}

// read is one share as a look finds it now.
func (m *modelSale) read(i int) split.Share {
	s := m.shares[i]
	if s.rebuilding {
		return split.Share{}
	}
	found := split.Share{
		Known: true, Open: m.now >= s.resumes, Epoch: s.epoch, Operation: s.op, Corrected: s.corrected,
		MovedOut: s.movedOut, MovedIn: s.movedIn, Sellable: s.stock, Waiting: s.returned,
		Kept: m.now < s.keptUntil && s.sequence == s.keptSince,
	}
	if s.returned > 0 && m.now >= s.returnedAt {
		found.Sellable, found.Waiting = s.stock+s.returned, 0
	}
	if s.reserved > 0 {
		found.Waiting++
	}
	return found
}

// free is how many units could be sold now, or could if no share were being rebuilt, or are on their way.
func (m *modelSale) free() int64 {
	units := m.moving()
	for i, s := range m.shares {
		if s.rebuilding {
			units += s.units
			continue
		}
		units += m.read(i).Sellable
	}
	return units
}

// sellable is how many units a buyer could get at this moment.
func (m *modelSale) sellable() int64 {
	var units int64
	for i := range m.shares {
		if found := m.read(i); found.Open {
			units += found.Sellable
		}
	}
	return units
}

// moving is how many units Redis has taken from one share and not yet given to another.
func (m *modelSale) moving() int64 {
	var units int64
	for _, s := range m.shares {
		for i, op := range s.ops {
			if op.kind != modelMove || !op.takes() {
				continue
			}
			to := m.shares[op.to]
			switch {
			case op.gave > 0 && !to.rebuilding && to.op < op.gave: // a share that is being rebuilt counts it already
				units -= op.delta
			case op.gave == 0 && !op.completed && !s.rebuilding && s.outcomes[int64(i+1)]:
				units -= op.delta
			}
		}
	}
	return units
}

// check returns what is wrong: the ledger has other units than were issued, or a share in Redis has other than its ledger says.
func (m *modelSale) check() error {
	var units int64
	for i, s := range m.shares {
		units += s.units + s.sold
		if s.stock < 0 || s.units < 0 {
			return fmt.Errorf("share %d has %d units in Redis and %d in the ledger", i, s.stock, s.units)
		}
		if s.rebuilding {
			continue
		}
		inRedis := s.stock + s.returned
		if s.reserved > 0 {
			inRedis++
		}
		for n, op := range s.ops {
			applied := int64(n) < s.op
			switch {
			case !applied && !op.takes():
				inRedis += op.delta
			case applied && op.takes() && !op.completed && s.outcomes[int64(n+1)]:
				inRedis -= op.delta
			}
		}
		if inRedis != s.units {
			return fmt.Errorf("share %d has %d units in Redis, operations accounted for, and %d in the ledger", i, inRedis, s.units)
		}
	}
	if units != m.total {
		return fmt.Errorf("%d units, issued were %d", units, m.total)
	}
	return nil
}

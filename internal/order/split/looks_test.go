package split_test

import (
	"fmt"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

// modelLooks are two looks that are under way, and what is remembered of the ones before.
type modelLooks struct {
	first, second split.Look
	began         int64
	sawNone       bool  // there was a moment since they began at which nothing was free
	remembered    int64 // until when SOLD_OUT is said from memory
}

// look reads the next share, and judges after the last one. It reports whether SOLD_OUT was said, and an error if that was wrong.
func (m *modelSale) look() (bool, error) {
	l := &m.looks
	if len(l.first) == 0 {
		l.began, l.sawNone = m.now, m.free() == 0
	}
	if len(l.first) < len(m.shares) {
		l.first = append(l.first, m.read(len(l.first)))
		return false, nil
	}
	l.second = append(l.second, m.read(len(l.second)))
	if len(l.second) < len(m.shares) {
		return false, nil
	}
	soldOut, remember := m.judge(l.first, l.second)
	first, second := l.first, l.second
	l.first, l.second = nil, nil
	if remember {
		l.remembered = max(l.remembered, l.began+order.SoldOutTTL.Milliseconds())
	}
	if soldOut && !l.sawNone {
		return true, fmt.Errorf("SOLD_OUT after the looks %+v and %+v, though a unit was free at each moment between", first, second)
	}
	return soldOut, nil
}

// lookAll takes both looks at once.
func (m *modelSale) lookAll() (bool, error) {
	m.looks.first, m.looks.second = nil, nil
	for range 2*len(m.shares) - 1 {
		if _, err := m.look(); err != nil {
			return false, err
		}
	}
	return m.look()
}

// after is called after every step: it returns what is wrong.
func (m *modelSale) after() error {
	m.looks.sawNone = m.looks.sawNone || m.free() == 0
	if m.now < m.looks.remembered && m.sellable() > 0 {
		return fmt.Errorf("SOLD_OUT is said from memory, and %d units can be bought", m.sellable())
	}
	return m.check()
}

// settle has everything done that was begun.
func (m *modelSale) settle() error {
	for i, s := range m.shares {
		for s.rebuilding {
			m.rebuild(i)
		}
	}
	for range 2 { // what a move takes from one share it gives to another
		for i, s := range m.shares {
			for s.op < int64(len(s.ops)) {
				m.apply(i)
				m.now = max(m.now, s.reservedAt)
			}
			for number := range int64(len(s.ops)) {
				m.complete(i, number+1)
			}
		}
	}
	return m.after()
}

// sellOut has the buyers of one share buy until they hear SOLD_OUT, and returns an error if units are left then, or if that
// does not end.
func (m *modelSale) sellOut(share int) error {
	for range 100 + 10*int(m.total) {
		if m.buy(share) {
			continue
		}
		soldOut, err := m.lookAll()
		if err != nil || soldOut && m.waiting() == 0 {
			return err
		}
		look := m.lookNow()
		if pull, ok := look.PullFor(share, 1, 1); ok {
			m.move(pull.From, share, pull.Units)
		} else {
			m.now += 500
		}
		if err := m.settle(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the buyers of share %d hear neither SOLD_OUT nor that they have bought: %+v", share, m.lookNow())
}

func (m *modelSale) lookNow() split.Look {
	var look split.Look
	for i := range m.shares {
		look = append(look, m.read(i))
	}
	return look
}

func (m *modelSale) waiting() int64 {
	var units int64
	for i := range m.shares {
		units += m.read(i).Waiting
	}
	return units
}

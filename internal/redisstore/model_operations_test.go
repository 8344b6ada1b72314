package redisstore

import (
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/operation"
)

// apply changes the model as the script must change the sale by operations at the time now, and returns the script's
// answer and whether the operations must wait.
func (m *model) apply(ops []operation.Operation, now time.Time) ([]operation.Result, bool) {
	stock, returned, reserved, before := m.stock, m.returned, m.reserved, m.op
	m.release(now)
	var results []operation.Result
	waits := false
	m.uncached = false
	takes := map[int64]operation.Result{}
	for _, op := range ops {
		result, known := m.takes[op.Number]
		switch {
		case op.Number > before:
			result.Number = op.Number
			mark := m.mark
			if result.Taken, waits = m.applyOne(op, now); !waits {
				m.op = op.Number
			}
			if m.mark != mark {
				result.Admission = m.mark
			}
			if op.Takes() && !waits {
				takes[op.Number] = result
			}
		case !op.Takes():
			result = operation.Result{Number: op.Number, Taken: true}
		case !known:
			continue
		}
		if waits {
			results = nil
			break
		}
		results = append(results, result)
	}
	if m.op == before && m.reserved == reserved {
		m.stock, m.returned = stock, returned // the script then writes nothing
		return results, waits
	}
	for number, result := range m.takes {
		if number >= ops[0].Number {
			takes[number] = result
		}
	}
	m.takes = takes
	return results, waits
}

// applyOne applies one operation, and returns whether it took its units, and whether it must wait.
func (m *model) applyOne(op operation.Operation, now time.Time) (taken, waits bool) {
	if op.Mode != order.SaleMissing {
		m.mode, _ = wordOf(op.Mode)
		m.begin, m.end = op.Begin, op.End
	}
	switch {
	case op.Kind == operation.Acceptance:
		return m.accept(op, now)
	case op.Delta > 0 || op.Kept > 0:
		m.issued += op.Delta
		if op.Delta > 0 {
			m.give(op.Delta, now.Add(longDelay))
		}
		if op.OrderID > 0 && m.holders[op.UserID] == op.Held() {
			delete(m.holders, op.UserID)
		}
	case op.OrderID > 0:
		return m.revive(op, now)
	case op.Takes():
		if m.stock+m.returned < -op.Delta {
			return false, false
		}
		m.issued += op.Delta
		m.stock += op.Delta
		if m.stock < 0 {
			m.stock, m.returned = 0, m.returned+m.stock
		}
	}
	return true, false
}

func (m *model) revive(op operation.Operation, now time.Time) (taken, waits bool) {
	mine := m.reserved == op.Number
	units := -op.Delta
	if held := m.holders[op.UserID]; held.OrderID != 0 {
		if mine {
			m.reserved = 0
			m.give(units, now.Add(longDelay))
		}
		return held == op.Held(), false
	}
	switch {
	case mine && now.Before(m.reservedAt):
		return false, true
	case mine:
		m.reserved = 0
	case m.stock >= units && !now.Before(m.resumes):
		m.stock -= units
	case m.stock >= units:
		m.stock -= units
		m.reserved, m.reservedUnits, m.reservedAt = op.Number, units, m.resumes
		return false, true
	case m.stock+m.returned >= units:
		m.stock, m.returned = 0, m.returned-(units-m.stock)
		m.reserved, m.reservedUnits, m.reservedAt = op.Number, units, m.returnedAt
		return false, true
	default:
		return false, false
	}
	m.taken += units
	m.mark.Sequence++
	m.holders[op.UserID] = op.Held()
	return true, false
}

// accept is the acceptance of a kept unit, which is none of the stock. Where nothing can be sold it waits.
func (m *model) accept(op operation.Operation, now time.Time) (taken, waits bool) {
	mine := m.reserved == op.Number
	if held := m.holders[op.UserID]; held.OrderID != 0 {
		if mine {
			m.reserved, m.reservedKept = 0, false
		}
		return held == op.Held(), false
	}
	switch {
	case mine && now.Before(m.reservedAt):
		return false, true
	case mine:
		m.reserved, m.reservedKept, m.uncached = 0, false, true
	case !m.uncached && (m.stock == 0 || now.Before(m.resumes)):
		m.reserved, m.reservedUnits, m.reservedKept, m.reservedAt = op.Number, 1, true, now.Add(longDelay)
		return false, true
	}
	m.issued += op.Units()
	m.taken += op.Units()
	m.mark.Sequence++
	m.holders[op.UserID] = op.Held()
	return true, false
}

// longDelay is the return delay during operations, long enough that no time comes by accident.
const longDelay = 30 * time.Second

// apply sends some of the ledger's operations, some of which Redis may have, once or twice.
func (h *history) apply() {
	for range rapid.IntRange(0, 3).Draw(h.t, "new operations") {
		h.ops = append(h.ops, h.operation())
	}
	now := h.decideTimes()
	h.r.returnDelay = longDelay
	defer func() { h.r.returnDelay = testDelay }()
	from := max(0, h.m.op-rapid.Int64Range(0, 4).Draw(h.t, "operations ago"))
	to := rapid.Int64Range(from, int64(len(h.ops))).Draw(h.t, "to")
	for range rapid.IntRange(1, 2).Draw(h.t, "sent") {
		got, wait := h.r.once(h.r.ctx(), h.ops[from:to]...)
		if h.m.mode == modeRebuild {
			h.equal(operation.ApplyRebuilding, got.State)
			continue
		}
		results, waits := h.m.apply(h.r.of(h.ops[from:to]), now)
		h.equal(waits, wait > 0)
		h.equal(operation.ApplyResult{Epoch: h.m.mark.Epoch, Applied: h.m.op, Results: results}, got)
	}
	h.timeGoesOn()
}

// timeGoesOn lets time decide again.
func (h *history) timeGoesOn() {
	later := h.r.now().Add(testDelay).Truncate(time.Millisecond)
	h.m.returnedAt, h.m.reservedAt, h.m.resumes = later, later, later
	h.setTimes()
}

// decideTimes decides whether the waiting units' times have come, and returns a time at which that is so.
func (h *history) decideTimes() time.Time {
	now := h.r.now().Truncate(time.Millisecond)
	times := []time.Time{now.Add(longDelay), now.Add(-time.Hour)}
	h.m.returnedAt = rapid.SampledFrom(times).Draw(h.t, "returned units are due")
	h.m.reservedAt = rapid.SampledFrom(times).Draw(h.t, "reserved unit is due")
	h.m.resumes = rapid.SampledFrom(times).Draw(h.t, "sells")
	h.setTimes()
	return now
}

func (h *history) setTimes() {
	h.fatal(h.r.commands.HSet(h.r.ctx(), h.r.keys.sale(h.r.sale),
		fieldReturnedAt, h.m.returnedAt.UnixMilli(), fieldReservedAt, h.m.reservedAt.UnixMilli(),
		fieldResumes, h.m.resumes.UnixMilli()).Err())
}

// operation adds and returns the ledger's next operation.
func (h *history) operation() operation.Operation {
	op := operation.Operation{Number: int64(len(h.ops)) + 1}
	user := rapid.Int64Range(1, 12).Draw(h.t, "user")
	held := h.m.holders[user]
	if held.OrderID == 0 || rapid.IntRange(0, 3).Draw(h.t, "other") == 0 {
		held = order.Held{OrderID: rapid.Int64Range(1<<62, 1<<62+40).Draw(h.t, "order"), Quantity: h.quantity()}
	}
	switch rapid.IntRange(0, 8).Draw(h.t, "kind") {
	case 0, 1:
		op.Kind, op.Delta, op.UserID, op.OrderID = operation.Cancellation, held.Quantity.Units(), user, held.OrderID
	case 6:
		op.Kind, op.UserID, op.OrderID = operation.Cancellation, user, held.OrderID
		op.Kept = rapid.Int64Range(1, held.Quantity.Units()).Draw(h.t, "kept")
		op.Delta = held.Quantity.Units() - op.Kept
	case 7:
		op.Kind, op.Kept, op.UserID, op.OrderID = operation.Acceptance, -1, user, held.OrderID
	case 8:
		op.Kind, op.Delta, op.Kept = operation.Releasing, 1, -1
	case 2, 3:
		op.Kind, op.Delta, op.UserID, op.OrderID = operation.Revival, -held.Quantity.Units(), user, held.OrderID
	case 4:
		op.Kind, op.Delta = operation.Restock, rapid.Int64Range(-4, 4).Draw(h.t, "delta")
	case 5:
		now := h.r.now().Truncate(time.Millisecond)
		op.Kind, op.Begin, op.End = operation.Resuming, now.Add(-time.Hour), now.Add(time.Hour)
		op.Mode = rapid.SampledFrom([]order.SaleMode{
			order.SaleOpen, order.SaleOpen, order.SalePaused, order.SaleCalledOff,
		}).Draw(h.t, "mode")
	}
	return op
}

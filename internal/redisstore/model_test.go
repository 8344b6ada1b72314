package redisstore

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/operation"
)

// model is a sale according to the scripts' contracts, in plain Go. Its time comes from Redis's answers.
type model struct {
	mode            string
	mark            order.Mark
	stock, returned int64
	returnedAt      time.Time
	resumes         time.Time // when the rebuilt sale begins to sell
	op              int64     // the last operation applied
	reserved        int64     // the revival for which units are reserved
	reservedUnits   int64
	reservedKept    bool // it is an acceptance
	uncached        bool // no instance can have the sale cached as sold out, while operations are applied
	reservedAt      time.Time
	takes           map[int64]operation.Result // the results that are kept
	begin, end      time.Time
	holders         map[int64]order.Held
	stream          []order.Claim
	voucher         int64
	issued, taken   int64 // units published in this epoch; units that left with orders or were lost with them
}

func (m *model) release(now time.Time) {
	if m.returned > 0 && !now.Before(m.returnedAt) {
		m.stock, m.returned = m.stock+m.returned, 0
	}
}

func (m *model) refusal(now time.Time) (gate.Outcome, bool) {
	switch {
	case m.mode == modeRebuild:
		return gate.Rebuilding, true
	case m.mode == modeOver:
		return gate.CalledOff, true
	case m.mode == modeOff:
		return gate.OffShelf, true
	case m.mode == modePaused:
		return gate.Paused, true
	case now.Before(m.begin):
		return gate.NotStarted, true
	case !now.Before(m.end):
		return gate.Ended, true
	}
	return 0, false
}

// admit changes the model as the script must change the sale at the time now, and returns the script's answer.
func (m *model) admit(b gate.Batch, now time.Time) []gate.Result {
	outcomes := make([]gate.Result, len(b.Requests))
	if m.mark.Before(b.Known) {
		m.mode = modeRebuild
		for i := range outcomes {
			outcomes[i].Outcome = gate.LostTail
		}
		return outcomes
	}
	stock, returned := m.stock, m.returned
	m.release(now)
	admitted := false
	for i, a := range b.Requests {
		held, has := m.holders[a.UserID]
		wanted := order.Held{OrderID: a.OrderID, Quantity: a.Quantity}
		code, refused := m.refusal(now)
		switch {
		case has && held == wanted:
		case has:
			outcomes[i] = gate.Result{Outcome: gate.AlreadyBought, OrderID: held.OrderID, Quantity: held.Quantity}
		case a.OrderID == 0:
			outcomes[i].Outcome = gate.Barred
		case refused:
			outcomes[i].Outcome = code
		case m.stock == 0:
			outcomes[i].Outcome = gate.SoldOut
		case now.Before(m.resumes):
			outcomes[i].Outcome = gate.Paused
		case m.stock < a.Quantity.Units():
			outcomes[i] = gate.Result{Outcome: gate.NotEnough, Left: m.stock}
		case int64(len(m.stream)) >= b.MaxBacklog:
			outcomes[i].Outcome = gate.Backlogged
		default:
			admitted = true
			m.stock -= a.Quantity.Units()
			m.taken += a.Quantity.Units()
			m.mark.Sequence++
			m.holders[a.UserID] = wanted
			m.stream = append(m.stream, order.Claim{
				OrderID: a.OrderID, UserID: a.UserID, VoucherID: m.voucher, Epoch: m.mark.Epoch,
				Sequence: m.mark.Sequence, Quantity: a.Quantity,
			})
		}
	}
	if !admitted {
		m.stock, m.returned = stock, returned // the script then writes nothing
	}
	return outcomes
}

func (m *model) correct(c order.Correction, now time.Time, delay time.Duration) bool {
	if m.holders[c.UserID] != (order.Held{OrderID: c.OrderID, Quantity: c.Quantity}) || c.Until != 0 && m.op > c.Until {
		return false
	}
	delete(m.holders, c.UserID)
	if c.New.OrderID != 0 {
		m.holders[c.UserID] = c.New
	}
	if !c.GiveBack {
		return true
	}
	m.release(now)
	m.taken -= c.Quantity.Units()
	m.give(c.Quantity.Units(), now.Add(delay))
	return true
}

// give puts units back on sale, from the given time on if they must wait.
func (m *model) give(units int64, at time.Time) {
	switch {
	case m.stock > 0:
		m.stock += units
	case m.returned > 0:
		m.returned += units
	default:
		m.returned, m.returnedAt = units, at
	}
}

// left returns the units that the view shows.
func (m *model) left() int64 {
	left := m.stock + m.returned
	if m.reserved > 0 && !m.reservedKept {
		left += m.reservedUnits
	}
	return left
}

// atGate returns the units in the answer to an admission, which keep instances from caching the sale as sold out.
func (m *model) atGate() int64 {
	if m.reserved > 0 && m.reservedKept {
		return m.left() + m.reservedUnits
	}
	return m.left()
}

// extra returns the units of the holders beyond one each.
func (m *model) extra() (extra int64) {
	for _, held := range m.holders {
		extra += held.Quantity.Extra()
	}
	return extra
}

// TestModel runs the same random histories on the scripts and on the model, with a real server and with the in-process
// one.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *rig{
		"redis": func(t *testing.T) *rig { return newRig(t) }, "miniredis": newMiniRig,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			r.log = slog.New(slog.DiscardHandler)
			var partition atomic.Int64
			rapid.Check(t, func(rt *rapid.T) {
				n := partition.Add(1) // each history has its own stream
				sale := order.SaleRef{VoucherID: n, Partition: int(n)}
				newHistory(rt, &rig{Store: r.Store, t: t, mini: r.mini, sale: sale}).run()
			})
		})
	}
}

// history is one random history of a sale.
type history struct {
	t   *rapid.T
	r   *rig
	m   *model
	ops []operation.Operation // all operations of the ledger; the number is the index plus one

	packed bool // entries have several orders, and the backlog stays below its limit
}

func newHistory(t *rapid.T, r *rig) *history {
	h := &history{t: t, r: r, m: &model{
		holders: map[int64]order.Held{}, takes: map[int64]operation.Result{},
		voucher: r.sale.VoucherID, resumes: time.UnixMilli(0),
	}}
	h.packed = rapid.Bool().Draw(t, "packed")
	h.publish()
	return h
}

func (h *history) run() {
	h.t.Repeat(map[string]func(*rapid.T){
		"admit":   func(*rapid.T) { h.admit() },
		"correct": func(*rapid.T) { h.correct() },
		"apply":   func(*rapid.T) { h.apply() },
		"state":   func(*rapid.T) { h.state() },
		"publish": func(*rapid.T) { h.publish() },
		"drain":   func(*rapid.T) { h.drain() },
		"wait":    func(*rapid.T) { h.wait() },
		"":        func(*rapid.T) { h.check() },
	})
}

func (h *history) fatal(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) equal(want, got any) {
	h.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Fatalf("-model +Redis\n%s", diff)
	}
}

func (h *history) admit() {
	b := gate.Batch{
		Sale: h.r.sale, MaxBacklog: rapid.Int64Range(1, 30).Draw(h.t, "backlog"),
		Known: order.Mark{
			Epoch:    h.m.mark.Epoch - rapid.Int64Range(0, 1).Draw(h.t, "epochs ago"),
			Sequence: max(0, h.m.mark.Sequence-rapid.Int64Range(0, 2).Draw(h.t, "admissions ago")),
		},
	}
	if h.packed {
		b.MaxBacklog = 1 << 30
	}
	if rapid.IntRange(0, 19).Draw(h.t, "lost") == 0 {
		b.Known = order.Mark{Epoch: h.m.mark.Epoch, Sequence: h.m.mark.Sequence + 1}
	}
	for range rapid.IntRange(1, 20).Draw(h.t, "requests") {
		b.Requests = append(b.Requests, gate.Request{
			UserID:  rapid.Int64Range(1, 12).Draw(h.t, "user"),
			OrderID: rapid.Int64Range(1<<62, 1<<62+40).Draw(h.t, "order"), Quantity: h.quantity(),
		})
	}
	for range rapid.IntRange(1, 2).Draw(h.t, "sent") {
		v, err := h.r.Admit(h.r.ctx(), b)
		h.fatal(err)
		h.equal(h.m.admit(b, v.View.Now), v.Results)
		h.equal([]int64{h.m.mark.Epoch, h.m.mark.Sequence, h.m.atGate(), int64(len(h.m.holders))},
			[]int64{v.View.Mark.Epoch, v.View.Mark.Sequence, v.View.Stock, v.View.Buyers})
	}
}

// quantity draws a quantity, one unit most of the time.
func (h *history) quantity() order.Quantity {
	return order.QuantityOf(rapid.SampledFrom([]int64{1, 1, 1, 2, 3, 20}).Draw(h.t, "quantity"))
}

func (h *history) correct() {
	c := order.Correction{
		Sale: h.r.sale, UserID: rapid.Int64Range(1, 12).Draw(h.t, "user"),
		GiveBack: rapid.Bool().Draw(h.t, "give back"),
	}
	held := h.m.holders[c.UserID]
	c.OrderID, c.Quantity = held.OrderID, held.Quantity
	if c.OrderID == 0 || rapid.IntRange(0, 3).Draw(h.t, "other") == 0 {
		c.OrderID, c.Quantity = rapid.Int64Range(1<<62, 1<<62+40).Draw(h.t, "order"), h.quantity()
	}
	if rapid.Bool().Draw(h.t, "another is live") {
		c.New = order.Held{OrderID: rapid.Int64Range(1<<61, 1<<61+5).Draw(h.t, "new order"), Quantity: h.quantity()}
	}
	if rapid.Bool().Draw(h.t, "of a cancelled order") {
		c.Until = max(1, h.m.op-rapid.Int64Range(-1, 1).Draw(h.t, "operations since"))
	}
	before := h.r.now()
	for range rapid.IntRange(1, 2).Draw(h.t, "sent") {
		done, err := h.r.correctSale(h.r.ctx(), h.r.sale, []order.Correction{c})
		h.fatal(err)
		waited, at := h.m.returned > 0, before
		if waited && h.number(fieldReturned) == 0 {
			at = h.m.returnedAt // their time may have come during the call, which only Redis knows
		}
		h.equal(h.m.correct(c, at, testDelay), done.acted[0])
		if !waited && h.m.returned > 0 { // only Redis knows the exact time
			at := h.number(fieldReturnedAt)
			if low, high := before.Add(testDelay).UnixMilli(),
				h.r.now().Add(testDelay).UnixMilli(); at < low || at > high {
				h.t.Fatalf("a unit can be sold from %d, want %d to %d", at, low, high)
			}
			h.m.returnedAt = time.UnixMilli(at)
		}
	}
}

func (h *history) number(field string) int64 {
	n, err := h.r.commands.HGet(h.r.ctx(), h.r.keys.sale(h.r.sale), field).Int64()
	h.fatal(err)
	return n
}

// state makes a change as an admin or time would.
func (h *history) state() {
	modes := []string{modeOpen, modeOpen, modeOpen, modePaused, modeOff, modeOver, modeRebuild}
	h.m.mode = rapid.SampledFrom(modes).Draw(h.t, "mode")
	now := h.r.now().Truncate(time.Millisecond)
	h.m.begin, h.m.end = now.Add(-time.Hour), now.Add(time.Hour)
	switch rapid.IntRange(0, 5).Draw(h.t, "window") {
	case 0:
		h.m.end = now
	case 1:
		h.m.begin = now.Add(time.Minute)
	}
	h.fatal(h.r.commands.HSet(h.r.ctx(), h.r.keys.sale(h.r.sale),
		fieldMode, h.m.mode, fieldBegin, h.m.begin.UnixMilli(), fieldEnd, h.m.end.UnixMilli()).Err())
}

// publish rebuilds the sale with a new stock; holders stay.
func (h *history) publish() {
	epoch := h.m.mark.Epoch + rapid.Int64Range(1, 2).Draw(h.t, "epochs")
	o := h.r.hour(rapid.Int64Range(0, 8).Draw(h.t, "stock"))
	o.Operation, o.Extra = int64(len(h.ops)), h.m.extra()
	before := h.r.now()
	h.fatal(h.r.Begin(h.r.ctx(), h.r.sale, epoch))
	h.fatal(h.r.Publish(h.r.ctx(), h.r.sale, epoch, o))
	h.resume(before, h.m.mode == "" && epoch == 1)
	h.m.mode, h.m.mark, h.m.stock, h.m.returned = modeOpen, order.Mark{Epoch: epoch}, o.Stock, 0
	h.m.op, h.m.reserved, h.m.reservedKept = o.Operation, 0, false
	clear(h.m.takes)
	h.m.begin, h.m.end = o.Begin, o.End
	h.m.issued, h.m.taken = o.Stock, 0
}

// resume checks from when the rebuilt sale sells, and may let it sell at once.
func (h *history) resume(begun time.Time, isNew bool) {
	at := h.number(fieldResumes)
	if isNew && at != 0 {
		h.t.Fatalf("a new sale sells from %d", at)
	}
	if !isNew && at < begun.Add(testDelay).UnixMilli() {
		h.t.Fatalf("sells from %d, stopped at %v", at, begun)
	}
	if rapid.IntRange(0, 3).Draw(h.t, "held back") > 0 {
		at = 0
		h.fatal(h.r.commands.HSet(h.r.ctx(), h.r.keys.sale(h.r.sale), fieldResumes, at).Err())
	}
	h.m.resumes = time.UnixMilli(at)
}

// drain records the waiting orders.
func (h *history) drain() {
	c := h.r.Consumer(h.r.sale.Partition, "a")
	entries, err := c.Next(h.r.ctx(), rapid.IntRange(1, 10).Draw(h.t, "entries"), 0)
	h.fatal(err)
	if len(entries) == 0 {
		return
	}
	keys := slices.Compact(keysOf(entries))
	n, err := c.Acknowledge(h.r.ctx(), keys)
	h.fatal(err)
	h.equal(len(keys), n)
	h.m.stream = h.m.stream[len(entries):]
}

func (h *history) wait() {
	if h.m.returned > 0 {
		h.r.pass(testDelay)
	}
}

// check compares the model with all data in Redis, and checks that no unit was created or lost.
func (h *history) check() {
	var got []order.Claim
	for c, err := range h.r.Waiting(h.r.ctx(), h.r.sale) {
		h.fatal(err)
		got = append(got, c)
	}
	if !slices.Equal(h.m.stream, got) {
		h.t.Fatalf("stream: model %v, Redis %v", h.m.stream, got)
	}
	holders := map[int64]order.Held{}
	for c, err := range h.r.Holders(h.r.ctx(), h.r.sale) {
		h.fatal(err)
		holders[c.UserID] = c.Held()
	}
	h.equal(h.m.holders, holders)
	views, err := h.r.Views(h.r.ctx(), []order.SaleRef{h.r.sale})
	h.fatal(err)
	inventory, err := h.r.Inventory(h.r.ctx(), h.r.sale)
	h.fatal(err)
	shown := []int64{h.m.left(), int64(len(holders)), h.m.extra()}
	h.equal(shown, []int64{views[0].Stock, views[0].Buyers, views[0].Extra})
	h.equal(shown, []int64{inventory.Stock, inventory.Holders, inventory.Extra})
	h.equal(fmt.Sprint(h.m.stock, h.m.returned, h.m.reserved, h.m.op),
		fmt.Sprint(h.number(fieldStock), h.number(fieldReturned), h.number(fieldReserved), h.number(fieldOperation)))
	if h.m.stock < 0 || h.m.returned < 0 || h.m.left()+h.m.taken != h.m.issued {
		h.t.Fatalf("units: %d left, %d returned, %d taken of %d", h.m.left(), h.m.returned, h.m.taken, h.m.issued)
	}
}

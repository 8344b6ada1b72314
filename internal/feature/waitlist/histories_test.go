package waitlist_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/feature/waitlist"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// TestHistories repeats each step of random histories of the model in a ledger, and compares sale and places after it.
// SECKILL_TEST_HISTORIES sets how many; make -C lab waiting-lists runs 1,000.
func TestHistories(t *testing.T) {
	histories := 24
	if n, err := strconv.Atoi(os.Getenv("SECKILL_TEST_HISTORIES")); err == nil {
		histories = n
	}
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		newRig(t, l, 0).hooked()
		for seed := range histories {
			h := history{rig: newRig(t, l, 4), model: newModel(4)}
			h.live(rand.New(rand.NewPCG(uint64(seed), 2)), 100)
			if t.Failed() {
				t.Fatalf("seed %d: %v", seed, h.steps)
			}
		}
	})
}

// history applies the same steps to a model and a ledger.
type history struct {
	*rig
	model *model
	steps []string
}

func (h *history) live(rnd *rand.Rand, steps int) {
	const users = 12
	for range steps {
		before := *h.model
		step := h.model.step(rnd, users)
		h.steps = append(h.steps, step)
		h.do(step, &before)
		h.compare()
		if h.tb.Failed() {
			return
		}
	}
	for _, step := range h.model.rest() {
		h.steps = append(h.steps, step)
		h.do(step, h.model)
	}
	h.compare()
}

// do applies one step to the ledger. before is a shallow copy of the model before the step.
func (h *history) do(step string, before *model) {
	word, rest, _ := strings.Cut(step, " ")
	n, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	running := !before.over && !before.paused
	switch word {
	case "cancel":
		if h.orderOf(n) != 0 {
			h.cancel(n)
		}
	case "join":
		if running && before.stock == 0 { // as Redis says
			var yes *bool
			if strings.HasSuffix(rest, "true") {
				yes = new(true)
			}
			h.says(n, yes)
		}
	case "accept":
		_, _ = h.accept(n) // the result is compared
	case "leave":
		_ = h.leave(n)
	case "decide":
		h.decide()
	case "rebuild":
		h.rebuilt()
	case "restock":
		switch {
		case n == 0:
		case before.calledOff:
			_, err := h.ChangeStock(h.tb.Context(), h.voucher, ledgertest.Admin, n, "late")
			if !errors.Is(err, voucher.ErrCalledOff) {
				h.tb.Errorf("the stock is changed after the call-off: %v", err)
			}
		default:
			h.restock(n, before.stock)
		}
	case "buy":
		if running && before.stock > 0 && h.orderOf(n) == 0 {
			c := ledgertest.Claims(h.voucher, n, 1)
			c[0].Epoch = h.row().Epoch
			h.Record(h.tb, c)
		}
	case "paused":
		h.pause(h.model.paused)
	case "at":
		h.pass(h.model.now - before.now)
	case "the":
		h.end()
	case "call":
		_, err := h.CallOff(h.tb.Context(), h.voucher, voucher.Author{AdminID: 7}, "the price was wrong")
		h.must(err)
	case "unwind":
		h.unwind()
	case "turn":
		h.turn()
	}
}

// unwind ends the orders of the sale, if it is one to be unwound.
func (h *history) unwind() {
	sales, err := h.SalesToUnwind(h.tb.Context())
	h.must(err)
	if slices.Contains(sales, h.voucher) {
		_, _, err := h.Unwind(h.tb.Context(), 1, h.voucher, 0, 1000)
		h.must(err)
	}
}

// rebuilt rebuilds the sale, and checks that the snapshot sells no kept unit and that a user whose acceptance is
// undecided is no buyer in it.
func (h *history) rebuilt() {
	snap := h.rebuild()
	held := int64(0)
	for _, o := range snap.Live {
		held += o.Quantity.Units()
	}
	if snap.Voucher.Sale.IsCalledOff() != h.model.calledOff {
		h.tb.Errorf("a rebuild finds the sale called off: %t", snap.Voucher.Sale.IsCalledOff())
	}
	if snap.Voucher.Sale.Stock != h.model.stock || held != int64(len(h.model.live)) {
		h.tb.Errorf("a rebuild finds %d units and %d held, want %d and %d", snap.Voucher.Sale.Stock, held,
			h.model.stock, len(h.model.live))
	}
	for _, p := range h.model.places {
		if p.state == waitlist.Accepted && p.asked == voided {
			id := h.Number(h.tb, "SELECT order_id FROM tb_place WHERE voucher_id = ? AND user_id = ? AND state = 3",
				h.voucher, p.user)
			if !snap.Dead[id] {
				h.tb.Errorf("a rebuild takes user %d, whose acceptance is undecided, for the buyer of order %d",
					p.user, id)
			}
		}
	}
}

// compareCallOff compares what the report of a sale that was called off says: withdrawn is its stock. The call-off is
// one operation and one audit entry, however often it is asked for.
func (h *history) compareCallOff() {
	m := h.model
	u, err := h.Unwinding(h.tb.Context(), h.voucher)
	h.must(err)
	if u.CalledOff.IsZero() == m.calledOff || u.Withdrawn != m.stock || u.Kept != m.kept ||
		u.Orders[order.FateUnpaid].Units != int64(len(m.live)) {
		h.tb.Errorf("the report says %+v, the model %+v", u, *m)
	}
	want := int64(0)
	if m.calledOff {
		want = 1
	}
	ops := h.Number(h.tb, "SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND kind = ?", h.voucher,
		operation.CallingOff)
	entries := h.Number(h.tb, "SELECT COUNT(*) FROM tb_audit WHERE voucher_id = ? AND action = ?", h.voucher,
		voucher.CalledOff)
	if ops != want || entries != want {
		h.tb.Errorf("calling off is %d operations and %d audit entries, want %d", ops, entries, want)
	}
}

func (h *history) compare() {
	m, s := h.model, h.row()
	const says = "stock %d, kept %d, accepted %d, issued %d, open %t"
	want := fmt.Sprintf(says, m.stock, m.kept, m.accepted, m.issued, m.open)
	got := fmt.Sprintf(says, s.Stock, s.Kept, s.Accepted, s.Issued, s.ListOpen)
	if got != want {
		h.tb.Errorf("the sale has %s; want %s", got, want)
	}
	places := make([]string, len(m.places))
	for i, p := range m.places {
		places[i] = placeText(p.user, p.state, p.missed)
	}
	h.want(strings.Join(places, ", "))
	h.compareCallOff()
	live := slices.Sorted(func(yield func(int64) bool) {
		for user := range m.live {
			if !yield(user) {
				return
			}
		}
	})
	for _, user := range live {
		if h.orderOf(user) == 0 {
			h.tb.Errorf("user %d has no order", user)
		}
	}
}

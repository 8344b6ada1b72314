package recorder

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	sales := map[int64]order.LedgerSale{ordertest.VoucherA: {Stock: 1, Epoch: 1}}
	mine := ordertest.NewClaim(100, 1, ordertest.VoucherA)
	for name, tc := range map[string]struct {
		claims []order.Claim
		view   order.LedgerView
		want   []order.Decision
	}{
		"a claim that nothing contradicts is inserted": {
			claims: []order.Claim{mine}, view: order.LedgerView{Sales: sales},
			want: []order.Decision{{Claim: mine, Verb: order.Insert, RowID: 100}},
		},
		"recorded already: nothing to do": {
			claims: []order.Claim{mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {ID: 100, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid},
			}, Live: map[order.BuyerKey]order.Held{mine.Buyer(): {OrderID: 100}}},
			want: []order.Decision{{Claim: mine, Verb: order.Keep, RowID: 100}},
		},
		"the same claim twice in a batch is inserted once": {
			claims: []order.Claim{mine, mine}, view: order.LedgerView{Sales: sales},
			want: []order.Decision{
				{Claim: mine, Verb: order.Insert, RowID: 100}, {Claim: mine, Verb: order.Keep, RowID: 100},
			},
		},
		"recorded and cancelled since: the unit goes back if its user is still the holder": {
			claims: []order.Claim{mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {ID: 100, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled},
			}},
			want: []order.Decision{{Claim: mine, Verb: order.Keep, RowID: 100, Correction: back(mine, true, 0)}},
		},
		"failed before for lack of stock: no unit goes back": {
			claims: []order.Claim{mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {ID: 100, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Failed, Reason: reason.NoStock},
			}},
			want: []order.Decision{
				{Claim: mine, Verb: order.Keep, RowID: 100, Reason: reason.NoStock, Correction: back(mine, false, 0)},
			},
		},
		"another live order of the user: failed, the live one becomes the holder's": {
			claims: []order.Claim{mine}, view: order.LedgerView{
				Sales: sales, Live: map[order.BuyerKey]order.Held{mine.Buyer(): {OrderID: 50}},
			},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: 100, Reason: reason.DuplicateBuyer,
				Detail: "the user's live order is 50", Correction: back(mine, true, 50),
			}},
		},
		"no unit left: failed in stream order, no unit goes back": {
			claims: []order.Claim{mine, ordertest.NewClaim(101, 2, ordertest.VoucherA)},
			view:   order.LedgerView{Sales: sales},
			want: []order.Decision{
				{Claim: mine, Verb: order.Insert, RowID: 100},
				{
					Claim: ordertest.NewClaim(101, 2, ordertest.VoucherA), Verb: order.Fail,
					RowID: 101, Reason: reason.NoStock, Detail: "the ledger has no unit left",
					Correction: back(ordertest.NewClaim(101, 2, ordertest.VoucherA), false, 0),
				},
			},
		},
		"fewer units left than the order has: it fails whole, and a smaller one behind it is inserted": {
			claims: []order.Claim{ofUnits(mine, 3), ofUnits(ordertest.NewClaim(101, 2, ordertest.VoucherA), 2)},
			view:   order.LedgerView{Sales: map[int64]order.LedgerSale{ordertest.VoucherA: {Stock: 2, Epoch: 1}}},
			want: []order.Decision{
				{
					Claim: ofUnits(mine, 3), Verb: order.Fail, RowID: 100, Reason: reason.NoStock,
					Detail:     "the ledger has 2 units left for an order of 3",
					Correction: back(ofUnits(mine, 3), false, 0),
				},
				{Claim: ofUnits(ordertest.NewClaim(101, 2, ordertest.VoucherA), 2), Verb: order.Insert, RowID: 101},
			},
		},
		"no such sale": {
			claims: []order.Claim{mine}, view: order.LedgerView{},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: 100, Reason: reason.UnknownVoucher,
				Detail: "no sale of voucher 7", Correction: back(mine, false, 0),
			}},
		},
		"another voucher had the id, and the ledger has lost it": {
			claims: []order.Claim{mine}, view: order.LedgerView{Sales: map[int64]order.LedgerSale{
				ordertest.VoucherA: {Stock: 1, Epoch: mine.Epoch + 2, FirstEpoch: mine.Epoch + 1},
			}},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: 100, Reason: reason.UnknownVoucher,
				Detail: "a lost voucher had the id 7", Correction: back(mine, false, 0),
			}},
		},
		"the same before the sale was opened": {
			claims: []order.Claim{mine},
			view:   order.LedgerView{Sales: map[int64]order.LedgerSale{ordertest.VoucherA: {Stock: 1}}},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: 100, Reason: reason.UnknownVoucher,
				Detail: "a lost voucher had the id 7", Correction: back(mine, false, 0),
			}},
		},
		"a claim of somebody who was forgotten since, from a restored Redis: nothing is written": {
			claims: []order.Claim{mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {
					ID: 100, UserID: voucher.FirstForgotten + 7, VoucherID: ordertest.VoucherA, Status: order.Paid,
				},
			}},
			want: []order.Decision{{Claim: mine, Verb: order.Keep, RowID: 100}},
		},
		"another user's order has the id: failed under another one": {
			claims: []order.Claim{mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {ID: 100, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
			}},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: mine.RowID(1), Reason: reason.IDCollision,
				Detail: "id 100 is an order for voucher 7", Correction: back(mine, true, 0),
			}},
		},
		"the same collision twice in a batch: one row": {
			claims: []order.Claim{mine, mine},
			view: order.LedgerView{Sales: sales, Rows: map[int64]order.Order{
				100: {ID: 100, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
			}},
			want: []order.Decision{
				{
					Claim: mine, Verb: order.Fail, RowID: mine.RowID(1), Reason: reason.IDCollision,
					Detail: "id 100 is an order for voucher 7", Correction: back(mine, true, 0),
				},
				{
					Claim: mine, Verb: order.Keep, RowID: mine.RowID(1), Reason: reason.IDCollision,
					Correction: back(mine, true, 0),
				},
			},
		},
		"another order has that id too: failed under the next": {
			claims: []order.Claim{mine, mine},
			view: order.LedgerView{
				Sales: sales, Rows: map[int64]order.Order{
					100: {ID: 100, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
					mine.RowID(1): {
						ID: mine.RowID(1), UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled,
					},
				},
			},
			want: []order.Decision{
				{
					Claim: mine, Verb: order.Fail, RowID: mine.RowID(2), Reason: reason.IDCollision,
					Detail: "id 100 is an order for voucher 7", Correction: back(mine, true, 0),
				},
				{
					Claim: mine, Verb: order.Keep, RowID: mine.RowID(2), Reason: reason.IDCollision,
					Correction: back(mine, true, 0),
				},
			},
		},
		"the user has another live order: that becomes the holder's": {
			claims: []order.Claim{mine},
			view: order.LedgerView{
				Sales: sales, Rows: map[int64]order.Order{
					100: {ID: 100, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
				},
				Live: map[order.BuyerKey]order.Held{mine.Buyer(): {OrderID: 50}},
			},
			want: []order.Decision{{
				Claim: mine, Verb: order.Fail, RowID: mine.RowID(1), Reason: reason.IDCollision,
				Detail: "id 100 is an order for voucher 7", Correction: back(mine, true, 50),
			}},
		},
		"the same collision again: nothing to write": {
			claims: []order.Claim{mine},
			view: order.LedgerView{
				Sales: sales, Rows: map[int64]order.Order{
					100: {ID: 100, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid},
					mine.RowID(1): {
						ID: mine.RowID(1), UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Failed,
						Reason: reason.IDCollision,
					},
				},
			},
			want: []order.Decision{{
				Claim: mine, Verb: order.Keep, RowID: mine.RowID(1), Reason: reason.IDCollision,
				Correction: back(mine, true, 0),
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, resolve(tc.claims, tc.view)); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

func ofUnits(c order.Claim, units int64) order.Claim {
	c.Quantity = order.QuantityOf(units)
	return c
}

func back(c order.Claim, units bool, instead int64) *order.Correction {
	return &order.Correction{
		Sale: order.SaleRef{VoucherID: c.VoucherID}, UserID: c.UserID, OrderID: c.OrderID, Quantity: c.Quantity,
		GiveBack: units, New: order.Held{OrderID: instead},
	}
}

// ledgerModel applies decisions as the ledger does, so that a test can settle several batches in turn.
type ledgerModel struct {
	stock map[int64]int64
	rows  map[int64]order.Order
}

func (m *ledgerModel) view(claims []order.Claim) order.LedgerView {
	v := order.LedgerView{
		Sales: map[int64]order.LedgerSale{}, Rows: map[int64]order.Order{}, Live: map[order.BuyerKey]order.Held{},
	}
	for id, stock := range m.stock {
		v.Sales[id] = order.LedgerSale{Stock: stock, Epoch: 1, FirstEpoch: 1}
	}
	for _, c := range claims {
		ordertest.ReadRows(v, c, m.rows)
		for _, row := range m.rows {
			if row.Status.Live() && row.UserID == c.UserID && row.VoucherID == c.VoucherID {
				v.Live[c.Buyer()] = order.Held{OrderID: row.ID, Quantity: row.Quantity}
			}
		}
	}
	return v
}

// rowOf returns the claim's row.
func (m *ledgerModel) rowOf(c order.Claim) (order.Order, bool) {
	for try := 0; ; try++ {
		if row, has := m.rows[c.RowID(try)]; !has || c.HasRow(row) {
			return row, has
		}
	}
}

// settle halves a batch that the ledger contradicts, as the committer does. The ledger contradicts it when two of its
// orders have one id and the second one's next row id is taken by a row that the view does not show.
func (m *ledgerModel) settle(t *rapid.T, claims []order.Claim) (written int) {
	decisions := resolve(claims, m.view(claims))
	conflict := slices.ContainsFunc(decisions, func(d order.Decision) bool {
		_, taken := m.rows[d.RowID]
		return d.Verb != order.Keep && taken
	})
	if half := len(claims) / 2; conflict && half > 0 {
		return m.settle(t, claims[:half]) + m.settle(t, claims[half:])
	}
	return m.apply(t, decisions)
}

func (m *ledgerModel) apply(t *rapid.T, decisions []order.Decision) (written int) {
	for _, d := range decisions {
		if d.Verb == order.Keep {
			continue
		}
		written++
		if _, taken := m.rows[d.RowID]; taken {
			t.Fatalf("decision writes over row %d: %+v", d.RowID, d)
		}
		row := order.Order{
			ID: d.RowID, UserID: d.Claim.UserID, VoucherID: d.Claim.VoucherID, Quantity: d.Claim.Quantity,
			Status: order.Failed, Reason: d.Reason,
		}
		if d.Verb == order.Insert {
			row.Status = order.Unpaid
			if m.stock[d.Claim.VoucherID] -= d.Claim.Quantity.Units(); m.stock[d.Claim.VoucherID] < 0 {
				t.Fatalf("oversold voucher %d", d.Claim.VoucherID)
			}
		}
		m.rows[row.ID] = row
	}
	return written
}

// For any claims, batches and redeliveries: there are never more live orders than units, nor two of one user; every
// claim has an outcome; and settling again writes nothing.
func TestResolveKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stock := rapid.Int64Range(0, 6).Draw(t, "stock")
		m := &ledgerModel{
			stock: map[int64]int64{ordertest.VoucherA: stock, ordertest.VoucherB: 2}, rows: map[int64]order.Order{},
		}
		one := rapid.Custom(func(t *rapid.T) order.Claim {
			c := ordertest.NewClaim(rapid.Int64Range(1, 12).Draw(t, "id"), rapid.Int64Range(1, 6).Draw(t, "user"),
				rapid.SampledFrom([]int64{ordertest.VoucherA, ordertest.VoucherB, 99}).Draw(t, "voucher"))
			c.Quantity = order.QuantityOf(1 + (c.OrderID+c.UserID)%3)
			return c
		})
		for _, c := range rapid.SliceOfN(one, 0, 4).Draw(t, "claims whose next row id is taken as well") {
			m.rows[c.RowID(1)] = order.Order{
				ID: c.RowID(1), UserID: 99, VoucherID: c.VoucherID, Status: order.Failed, Reason: reason.NoStock,
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			claims := rapid.SliceOfN(one, 1, 8).Draw(t, "claims")
			m.settle(t, claims)
			if again := m.settle(t, claims); again != 0 {
				t.Fatalf("settling the same batch again wrote %d rows", again)
			}
			live := map[order.BuyerKey]int{}
			sold := int64(0)
			for _, row := range m.rows {
				if row.Status.Live() {
					live[order.BuyerKey{VoucherID: row.VoucherID, UserID: row.UserID}]++
					if row.VoucherID == ordertest.VoucherA {
						sold += row.Quantity.Units()
					}
				}
			}
			for key, n := range live {
				if n > 1 {
					t.Fatalf("%d live orders of %+v", n, key)
				}
			}
			if sold+m.stock[ordertest.VoucherA] != stock {
				t.Fatalf("sold %d + left %d, issued %d", sold, m.stock[ordertest.VoucherA], stock)
			}
			for _, c := range claims {
				if _, has := m.rowOf(c); !has {
					t.Fatalf("claim %+v has no outcome", c)
				}
			}
		}
	})
}

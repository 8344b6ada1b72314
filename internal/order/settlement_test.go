package order

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const voucherA, voucherB = int64(7), int64(8)

func claim(id, user, voucherID int64) Claim {
	return Claim{OrderID: id, UserID: user, VoucherID: voucherID, Epoch: 1, Sequence: id}
}

func TestSettleDecides(t *testing.T) {
	t.Parallel()
	sales := map[int64]LedgerSale{voucherA: {Stock: 1, Epoch: 1}}
	mine := claim(100, 1, voucherA)
	for name, tc := range map[string]struct {
		claims []Claim
		view   LedgerView
		spare  []int64
		want   []Decision
	}{
		"a claim that nothing contradicts is inserted": {
			claims: []Claim{mine}, view: LedgerView{Sales: sales},
			want: []Decision{{Claim: mine, Verb: Insert, RowID: 100}},
		},
		"recorded already: nothing to do": {
			claims: []Claim{mine},
			view:   LedgerView{Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 1, VoucherID: voucherA, Status: Paid}}, Live: map[BuyerKey]int64{mine.Buyer(): 100}},
			want:   []Decision{{Claim: mine, Verb: Keep, RowID: 100}},
		},
		"the same claim twice in a batch is inserted once": {
			claims: []Claim{mine, mine}, view: LedgerView{Sales: sales},
			want: []Decision{{Claim: mine, Verb: Insert, RowID: 100}, {Claim: mine, Verb: Keep, RowID: 100}},
		},
		"recorded and cancelled since: the unit goes back if the place is still its": {
			claims: []Claim{mine},
			view:   LedgerView{Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 1, VoucherID: voucherA, Status: Cancelled}}},
			want:   []Decision{{Claim: mine, Verb: Keep, RowID: 100, Return: back(mine, true, 0)}},
		},
		"failed before for lack of stock: no unit goes back": {
			claims: []Claim{mine},
			view:   LedgerView{Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 1, VoucherID: voucherA, Status: Failed, Reason: NoStock}}},
			want:   []Decision{{Claim: mine, Verb: Keep, RowID: 100, Reason: NoStock, Return: back(mine, false, 0)}},
		},
		"another live order of the user: failed, the place is set to the live one": {
			claims: []Claim{mine}, view: LedgerView{Sales: sales, Live: map[BuyerKey]int64{mine.Buyer(): 50}},
			want: []Decision{{Claim: mine, Verb: Fail, RowID: 100, Reason: DuplicateBuyer, Detail: "the user's live order is 50", Return: back(mine, true, 50)}},
		},
		"no unit left: failed in stream order, no unit goes back": {
			claims: []Claim{mine, claim(101, 2, voucherA)}, view: LedgerView{Sales: sales},
			want: []Decision{
				{Claim: mine, Verb: Insert, RowID: 100},
				{Claim: claim(101, 2, voucherA), Verb: Fail, RowID: 101, Reason: NoStock, Detail: "the ledger has no unit left", Return: back(claim(101, 2, voucherA), false, 0)},
			},
		},
		"no such sale": {
			claims: []Claim{mine}, view: LedgerView{},
			want: []Decision{{Claim: mine, Verb: Fail, RowID: 100, Reason: UnknownVoucher, Detail: "no sale of voucher 7", Return: back(mine, false, 0)}},
		},
		"another user's order has the id: failed under a spare id": {
			claims: []Claim{mine}, spare: []int64{900},
			view: LedgerView{Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 2, VoucherID: voucherA, Status: Unpaid}}},
			want: []Decision{{Claim: mine, Verb: Fail, RowID: 900, Reason: IDCollision, Detail: "id 100 is an order of user 2 for voucher 7", Return: back(mine, true, 0)}},
		},
		"the same collision twice in a batch: one row": {
			claims: []Claim{mine, mine}, spare: []int64{900, 901},
			view: LedgerView{Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 2, VoucherID: voucherA, Status: Unpaid}}},
			want: []Decision{
				{Claim: mine, Verb: Fail, RowID: 900, Reason: IDCollision, Detail: "id 100 is an order of user 2 for voucher 7", Return: back(mine, true, 0)},
				{Claim: mine, Verb: Keep, RowID: 900, Reason: IDCollision, Return: back(mine, true, 0)},
			},
		},
		"the same collision again: nothing to write": {
			claims: []Claim{mine},
			view: LedgerView{
				Sales: sales, Rows: map[int64]Order{100: {ID: 100, UserID: 2, VoucherID: voucherA, Status: Unpaid}},
				Collided: map[CollisionKey]int64{{OrderID: 100, UserID: 1}: 900},
			},
			want: []Decision{{Claim: mine, Verb: Keep, RowID: 900, Reason: IDCollision, Return: back(mine, true, 0)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := settle(tc.claims, tc.view, tc.spare)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
		})
	}
}

func back(c Claim, unit bool, instead int64) *Return {
	return &Return{Sale: SaleRef{VoucherID: c.VoucherID}, UserID: c.UserID, OrderID: c.OrderID, GiveBack: unit, Instead: instead}
}

func TestSettleAsksForSpareIDs(t *testing.T) {
	t.Parallel()
	view := LedgerView{
		Sales: map[int64]LedgerSale{voucherA: {Stock: 5}},
		Rows:  map[int64]Order{100: {ID: 100, UserID: 2, VoucherID: voucherA, Status: Unpaid}},
	}
	if _, err := settle([]Claim{claim(100, 1, voucherA)}, view, nil); !errors.Is(err, errNeedIDs) {
		t.Fatalf("error = %v, want errNeedIDs", err)
	}
}

// ledgerModel applies decisions as the ledger does, so that batches can be settled one after the other.
type ledgerModel struct {
	stock    map[int64]int64
	rows     map[int64]Order
	collided map[CollisionKey]int64
}

func (m *ledgerModel) view(claims []Claim) LedgerView {
	v := LedgerView{Sales: map[int64]LedgerSale{}, Rows: map[int64]Order{}, Live: map[BuyerKey]int64{}, Collided: m.collided}
	for id, stock := range m.stock {
		v.Sales[id] = LedgerSale{Stock: stock}
	}
	for _, c := range claims {
		if row, has := m.rows[c.OrderID]; has {
			v.Rows[c.OrderID] = row
		}
		for _, row := range m.rows {
			if row.Status.Live() && row.UserID == c.UserID && row.VoucherID == c.VoucherID {
				v.Live[c.Buyer()] = row.ID
			}
		}
	}
	return v
}

func (m *ledgerModel) apply(t *rapid.T, decisions []Decision) (written int) {
	for _, d := range decisions {
		if d.Verb == Keep {
			continue
		}
		written++
		if _, taken := m.rows[d.RowID]; taken {
			t.Fatalf("decision writes over row %d: %+v", d.RowID, d)
		}
		row := Order{ID: d.RowID, UserID: d.Claim.UserID, VoucherID: d.Claim.VoucherID, Status: Failed, Reason: d.Reason}
		if d.Verb == Insert {
			row.Status = Unpaid
			if m.stock[d.Claim.VoucherID]--; m.stock[d.Claim.VoucherID] < 0 {
				t.Fatalf("oversold voucher %d", d.Claim.VoucherID)
			}
		}
		m.rows[row.ID] = row
		if key := (CollisionKey{OrderID: d.Claim.OrderID, UserID: d.Claim.UserID}); m.collided[key] != 0 {
			t.Fatalf("collision %+v is written twice", key)
		}
		if d.RowID != d.Claim.OrderID {
			m.collided[CollisionKey{OrderID: d.Claim.OrderID, UserID: d.Claim.UserID}] = d.RowID
		}
	}
	return written
}

// Whatever is claimed, in whatever batches, with whatever redelivery: never more live orders than units, never two of
// one user, every claim has its outcome, and settling again writes nothing.
func TestSettleKeepsTheInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stock := rapid.Int64Range(0, 6).Draw(t, "stock")
		m := &ledgerModel{stock: map[int64]int64{voucherA: stock, voucherB: 2}, rows: map[int64]Order{}, collided: map[CollisionKey]int64{}}
		one := rapid.Custom(func(t *rapid.T) Claim {
			return claim(rapid.Int64Range(1, 12).Draw(t, "id"), rapid.Int64Range(1, 6).Draw(t, "user"),
				rapid.SampledFrom([]int64{voucherA, voucherB, 99}).Draw(t, "voucher"))
		})
		nextSpare := int64(1000)
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			claims := rapid.SliceOfN(one, 1, 8).Draw(t, "claims")
			settleAll := func() []Decision {
				var spare []int64
				for {
					decisions, err := settle(claims, m.view(claims), spare)
					if err == nil {
						return decisions
					}
					nextSpare++
					spare = append(spare, nextSpare)
				}
			}
			m.apply(t, settleAll())
			if again := m.apply(t, settleAll()); again != 0 {
				t.Fatalf("settling the same batch again wrote %d rows", again)
			}
			live := map[BuyerKey]int{}
			sold := int64(0)
			for _, row := range m.rows {
				if row.Status.Live() {
					live[BuyerKey{row.VoucherID, row.UserID}]++
					if row.VoucherID == voucherA {
						sold++
					}
				}
			}
			for key, n := range live {
				if n > 1 {
					t.Fatalf("%d live orders of %+v", n, key)
				}
			}
			if sold+m.stock[voucherA] != stock {
				t.Fatalf("sold %d + left %d, issued %d", sold, m.stock[voucherA], stock)
			}
			for _, c := range claims {
				row, has := m.rows[c.OrderID]
				_, collided := m.collided[CollisionKey{c.OrderID, c.UserID}]
				if mine := has && row.UserID == c.UserID; !mine && !collided {
					t.Fatalf("claim %+v has no outcome", c)
				}
			}
		}
	})
}

package recovery

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"seckill/internal/order"
)

// rebuildInput is the input of a rebuild, read from the stream, the holders, the recovery reports and the ledger.
type rebuildInput struct {
	waiting  []order.Claim        // in stream order
	holders  map[int64]order.Held // user id → order, as Redis has it
	held     int64                // the epoch of the sale in Redis; 0: it has none
	reported []order.Claim        // from the recovery reports, in no order
	// unreadable are the fields that name no user or no order. One may come twice.
	unreadable []order.UnreadableHolderError
	ledger     order.Snapshot

	seen    order.Mark   // the highest mark in the reports
	reached []order.Mark // the marks in Redis and in the ledger
}

// rebuildPlan is the output of a rebuild: all that it will write.
type rebuildPlan struct {
	setHolders    []order.Claim // holders whom Redis lacks or has with another order
	removeHolders []string      // fields of holders who have no order
	requeue       []order.Claim // accepted orders that are in neither stream nor ledger
	opening       order.Opening
	lost          []order.Claim // the part of requeue that only reports knew
	foreign       []order.Claim // orders of another voucher that had this one's id
}

// makePlan decides who is a holder and how much is left. It goes through the ledger's live orders, then the accepted
// orders that wait in the stream, in stream order, then the orders that only their holder in Redis proves, then the
// orders that only reports know, in the order of acceptance. All but the ledger's orders will take their units from the
// ledger when they are recorded, so those units count as taken here. If the user of an order is already a holder by
// another one, the order is requeued too: the recorder then fails it with a reason. Orders of another voucher
// (LedgerSale.Admitted) are left out; the recorder fails them if they wait.
func (in *rebuildInput) makePlan(epoch int64) rebuildPlan {
	var plan rebuildPlan
	plan.foreign = in.takeForeign(epoch)
	holders := make(map[int64]order.Held, len(in.ledger.Live)+len(in.waiting))
	maps.Copy(holders, in.ledger.Live)
	var promised int64 // units
	queued := make(map[int64]bool, len(in.waiting))
	for _, c := range in.waiting {
		queued[c.OrderID] = true
		if _, has := holders[c.UserID]; has || in.ledger.Dead[c.OrderID] {
			continue // already recorded, or bound to fail: the recorder decides
		}
		holders[c.UserID] = c.Held()
		promised += c.Quantity.Units()
	}
	foreign := make(map[int64]bool, len(plan.foreign))
	for _, c := range plan.foreign {
		foreign[c.OrderID] = true
	}
	for user, held := range in.holders {
		current, has := holders[user]
		if current.OrderID == held.OrderID {
			continue
		}
		if foreign[held.OrderID] || in.ledger.Dead[held.OrderID] || queued[held.OrderID] {
			if !has {
				plan.removeHolders = append(plan.removeHolders, strconv.FormatInt(user, 10))
			}
			continue
		}
		if !has {
			holders[user] = held
			promised += held.Quantity.Units()
		}
		lost := in.claim(user, held)
		lost.Epoch = epoch - 1
		plan.requeue = append(plan.requeue, lost)
	}
	for _, c := range in.missing(queued) {
		if _, has := holders[c.UserID]; !has {
			holders[c.UserID] = c.Held()
			promised += c.Quantity.Units()
		}
		plan.requeue, plan.lost = append(plan.requeue, c), append(plan.lost, c)
	}
	var extra int64
	plan.setHolders, extra = in.unlikeRedis(holders)
	plan.removeHolders = append(plan.removeHolders, in.unreadableFields(holders)...)
	plan.opening = in.opening(promised, extra)
	return plan
}

// unlikeRedis returns the holders whom Redis lacks or has with another order, and how many units beyond the first all
// holders have.
func (in *rebuildInput) unlikeRedis(holders map[int64]order.Held) (unlike []order.Claim, extra int64) {
	for user, held := range holders {
		extra += held.Quantity.Extra()
		if in.holders[user] != held {
			unlike = append(unlike, in.claim(user, held))
		}
	}
	return unlike, extra
}

// claim returns what makes a user a holder as a claim, without epoch and sequence.
func (in *rebuildInput) claim(user int64, h order.Held) order.Claim {
	return order.Claim{OrderID: h.OrderID, UserID: user, VoucherID: in.ledger.Voucher.ID, Quantity: h.Quantity}
}

// opening returns the state with which the sale opens. promised units of its stock are taken; extra is how many units
// its holders have beyond one each.
func (in *rebuildInput) opening(promised, extra int64) order.Opening {
	v := in.ledger.Voucher
	return order.Opening{
		Stock: max(0, v.Sale.Stock-promised), Extra: extra, Begin: v.Sale.Begin, End: v.Sale.End,
		Mode: order.ModeOf(v.Status, *v.Sale), Operation: in.ledger.Operation,
		Identity: in.ledger.Identity, Decided: in.ledger.Decided,
	}
}

// takeForeign returns the claims of another voucher that had this one's id, and removes them from the input. They are
// the claims of an epoch before this sale's first and, if Redis's sale is of such an epoch, all holders.
func (in *rebuildInput) takeForeign(epoch int64) (foreign []order.Claim) {
	sale := order.LedgerSale{Epoch: epoch, FirstEpoch: in.ledger.Voucher.Sale.FirstEpoch}
	isForeign := func(c order.Claim) bool {
		if sale.Admitted(c) {
			return false
		}
		foreign = append(foreign, c)
		return true
	}
	in.waiting = slices.DeleteFunc(in.waiting, isForeign)
	in.reported = slices.DeleteFunc(in.reported, isForeign)
	if epoch == sale.FirstEpoch || 0 < in.held && in.held < sale.FirstEpoch {
		for user, h := range in.holders {
			foreign = append(foreign, in.claim(user, h))
		}
	}
	return foreign
}

// unreadableFields returns the fields of unreadable holders that must be removed. It leaves out the fields of users who
// become holders again, because these are overwritten anyway.
func (in *rebuildInput) unreadableFields(holders map[int64]order.Held) []string {
	var fields []string
	for _, u := range in.unreadable {
		user, err := strconv.ParseInt(u.Field, 10, 64)
		if _, has := holders[user]; err == nil && has && strconv.FormatInt(user, 10) == u.Field {
			continue
		}
		fields = append(fields, u.Field)
	}
	return fields
}

// missing returns the reported claims that are neither in Redis nor in the ledger, each once, in the order of
// acceptance.
func (in *rebuildInput) missing(queued map[int64]bool) []order.Claim {
	var missing []order.Claim
	for _, c := range in.reported {
		if !queued[c.OrderID] && !in.ledger.Dead[c.OrderID] && in.ledger.Live[c.UserID].OrderID != c.OrderID &&
			in.holders[c.UserID].OrderID != c.OrderID {
			missing = append(missing, c)
		}
	}
	slices.SortFunc(missing, func(a, b order.Claim) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Sequence, b.Sequence),
			cmp.Compare(a.OrderID, b.OrderID))
	})
	return slices.CompactFunc(missing, func(a, b order.Claim) bool { return a.OrderID == b.OrderID })
}

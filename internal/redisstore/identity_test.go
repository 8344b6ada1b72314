package redisstore

import (
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/operation"
)

// Redis keeps the identity of the last operation that it has applied, and the last decision. It applies nothing
// to a sale if it has applied an operation there that the ledger lacks: one with a higher number, or with another
// identity under the same number. Operations without an identity, of version 1.0, contradict nothing.
func testIdentity(t *testing.T, r *rig) {
	o := r.hour(10)
	o.Decided.Kind = order.NoDecision
	r.open(1, o)
	named := func(op operation.Operation, identity int64) operation.Operation {
		op.Identity = identity
		return op
	}
	pause := named(setting(2, order.SalePaused, o), -72)
	r.apply(named(give(1, 1), 71))
	equal(t, order.Decided{Kind: order.NoDecision}, r.view().Decided)
	r.apply(pause, named(give(3, 1), 73))
	view := r.view()
	equal(t, order.OperationRef{Number: 3, Identity: 73}, view.LastApplied())
	equal(t, order.Decided{
		OperationRef: order.OperationRef{Number: 2, Identity: -72}, Kind: string(operation.Pausing),
	}, view.Decided)

	for name, tc := range map[string]struct {
		ops   []operation.Operation
		last  int64
		state operation.ApplyState
	}{
		"the same again":           {[]operation.Operation{named(give(3, 1), 73)}, 3, operation.ApplyDone},
		"another of its number":    {[]operation.Operation{named(give(3, 1), 74)}, 3, operation.ApplyOther},
		"the same among later":     {[]operation.Operation{pause, named(give(3, 1), 73)}, 9, operation.ApplyDone},
		"another among later":      {[]operation.Operation{pause, named(give(3, 1), 74)}, 9, operation.ApplyOther},
		"a ledger that went back":  {[]operation.Operation{named(give(1, 1), 75)}, 1, operation.ApplyOther},
		"with nothing to apply":    {nil, 2, operation.ApplyOther},
		"nothing, up to date":      {nil, 3, operation.ApplyDone},
		"the number without one":   {[]operation.Operation{give(3, 1)}, 3, operation.ApplyDone},
		"a first one far too high": {[]operation.Operation{named(give(5, 1), 76)}, 5, operation.ApplyGap},
	} {
		got, err := r.Apply(r.ctx(), r.sale, r.of(tc.ops), tc.last)
		r.must(err)
		if got.State != tc.state || got.Applied != 3 {
			t.Errorf("%s: %+v, want state %d", name, got, tc.state)
		}
	}

	// A refused change of stock decided nothing.
	r.apply(named(operation.Operation{Number: 4, Kind: operation.Restock, Delta: -100}, 77))
	equal(t, int64(2), r.view().Decided.Number)
	// One that got no identity leaves the fields as they are, as 1.0 does: they are not known then.
	r.apply(setting(5, order.SaleOpen, o), named(give(6, 1), 79))
	view = r.view()
	equal(t, order.OperationRef{Number: 6, Identity: 79}, view.LastApplied())
	equal(t, order.Decided{}, view.Decided)
	r.apply(named(setting(7, order.SalePaused, o), 80), give(8, 1))
	equal(t, int64(0), r.view().AppliedIdentity)
	equal(t, order.Decided{}, r.view().Decided)
	r.apply(named(setting(9, order.SalePaused, o), 81))
	equal(t, int64(9), r.view().Decided.Number)
	// A version 1.0 applies another one, and leaves both fields as they are: they are not known then.
	r.must(r.commands.HSet(r.ctx(), r.keys.sale(r.sale), "op", 10).Err())
	view = r.view()
	equal(t, int64(10), view.Applied)
	equal(t, int64(0), view.AppliedIdentity)
	equal(t, order.Decided{}, view.Decided)
	r.apply(named(give(11, 1), 78))
	view = r.view()
	equal(t, order.OperationRef{Number: 11, Identity: 78}, view.LastApplied())
	equal(t, order.Decided{}, view.Decided)
}

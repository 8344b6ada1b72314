package operate

import (
	"context"

	"seckill/cmd/server/wiring"
	"seckill/internal/voucher"
)

// operatorAct is what an operator does at the command line outside of the ledger.
type operatorAct struct {
	command     string // server deadletter
	action      voucher.Action
	field, name string // what it is done to
	by, why     string
}

// note writes an act into the audit trail, as the service's. It is called before the act, so that there is no act
// without an entry.
func note(ctx context.Context, w *wiring.Tool, act operatorAct) error {
	return w.Stores.Ledger.Note(ctx, voucher.Entry{
		By: voucher.Author{Request: act.command}, Action: act.action,
		Changes: []voucher.FieldChange{
			{Field: act.field, To: act.name}, {Field: "by", To: act.by}, {Field: "why", To: act.why},
		},
	})
}

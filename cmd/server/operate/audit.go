package operate

import (
	"context"

	"seckill/cmd/server/wiring"
	"seckill/internal/voucher"
)

// operatorAct is an operator's command that changes something outside of the ledger.
type operatorAct struct {
	command     string // server deadletter
	action      voucher.Action
	field, name string // the kind and the name of the thing that it changes
	by, why     string
}

// note writes an act to the audit trail, with the service as its author. Call it before the act, so that no act lacks
// an entry.
func note(ctx context.Context, w *wiring.Tool, act operatorAct) error {
	return w.Stores.Ledger.Note(ctx, voucher.Entry{
		By: voucher.Author{Request: act.command}, Action: act.action,
		Changes: []voucher.FieldChange{
			{Field: act.field, To: act.name}, {Field: "by", To: act.by}, {Field: "why", To: act.why},
		},
	})
}

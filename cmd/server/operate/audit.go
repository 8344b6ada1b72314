package operate

import (
	"context"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

// note writes to the audit trail that a command, such as server locks, changes something outside of the ledger, with
// the service as its author. Call it before the change, so that none lacks an entry.
func note(
	ctx context.Context, w *wiring.Tool, command string, action voucher.Action, what voucher.FieldChange,
	trail cmdline.Trail,
) error {
	return w.Stores.Ledger.Note(ctx, voucher.Entry{
		By: voucher.Author{Request: command}, Action: action,
		Changes: []voucher.FieldChange{what, {Field: "by", To: trail.By()}, {Field: "why", To: trail.Why()}},
	})
}

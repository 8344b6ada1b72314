package retention

import (
	"context"
	"encoding/json"

	"seckill/internal/feature"
)

// waitlistOf returns a function that returns the numbers of a sale's waiting list.
func waitlistOf(core feature.Core) func(context.Context, int64) (string, error) {
	return func(ctx context.Context, voucherID int64) (string, error) {
		v, err := core.Ledger.Voucher(ctx, voucherID)
		if err != nil {
			return "", err
		}
		shown, err := core.Front.Members.Of("waitlist").Sale(ctx, v)
		if err != nil || shown == nil {
			return "", err
		}
		text, err := json.Marshal(shown)
		return string(text), err
	}
}

// switchOn makes sure, once for an installation, that no version 1.0 lives, and that none starts any more: it would
// sell what a purge has closed.
func switchOn(ctx context.Context, ledger *Ledger, core feature.Core) error {
	on, err := ledger.isOn(ctx)
	if err != nil || on {
		return err
	}
	if err := core.SwitchOn(ctx, feature.RetentionFormat); err != nil {
		return err
	}
	return ledger.noteOn(ctx)
}

// serviceOf returns the functions behind the routes and commands about people.
func serviceOf(ledger *Ledger, core feature.Core) Service {
	return Service{
		Forget: func(ctx context.Context, user int64, by Trail) (Forgotten, error) {
			if err := switchOn(ctx, ledger, core); err != nil {
				return Forgotten{}, err
			}
			return Forget(ctx, ledger, user, by, func(ctx context.Context) error {
				return recorded(ctx, core.Redis.Oldest)
			})
		},
		Export: ledger.Export,
	}
}

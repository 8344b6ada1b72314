package partition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

const (
	// heartbeatAgain is how long Formats waits before it reads the heartbeats once more: longer than an instance that
	// reaches Redis takes to send its next one.
	heartbeatAgain = time.Second
	// raisedBefore is how long SwitchOn waits for what had read the ledger's word before it was raised: for an instance
	// that was just starting, or that lost Redis for as long as instances count as alive without a heartbeat.
	raisedBefore = 11 * time.Second
)

// Formats decides whether this installation may write what a version before would misread. A format is a word that the
// heartbeats of all instances name that read it; those of 1.0 name none.
type Formats struct {
	instances func(context.Context) ([]Instance, error)
	raise     func(context.Context) error
}

// NewFormats returns a Formats that asks who is alive (redisstore.Store.Instances), and that makes the ledger refuse
// versions which read no such format (schema.Schema.Raise).
func NewFormats(instances func(context.Context) ([]Instance, error), raise func(context.Context) error) *Formats {
	return &Formats{instances: instances, raise: raise}
}

// SwitchOn is Require for a feature that writes the format from now on: the versions before are then refused for good,
// those that start meanwhile included. It takes thirteen seconds. Repeating it is harmless. After an error the ledger
// may refuse the versions before already; nothing else has changed. Errors: as Require.
func (f *Formats) SwitchOn(ctx context.Context, format string) error {
	if err := f.Require(ctx, format); err != nil {
		return err
	}
	if err := f.raise(ctx); err != nil {
		return fmt.Errorf("switching %q on: %w", format, err)
	}
	if retry.Sleep(ctx, raisedBefore); ctx.Err() != nil {
		return ctx.Err()
	}
	return f.Require(ctx, format)
}

// Require returns nil if all living instances read the format, or order.ErrUpgrading, which names the others. It takes
// a second, as it reads the heartbeats twice: a Redis that was just emptied has lost those of instances that live. It
// is for rare changes that a person asks for, and for what a process decides once. Errors: order.ErrUpgrading,
// order.ErrUnavailable.
func (f *Formats) Require(ctx context.Context, format string) error {
	if err := f.ask(ctx, format); err != nil {
		return err
	}
	if retry.Sleep(ctx, heartbeatAgain); ctx.Err() != nil {
		return ctx.Err()
	}
	return f.ask(ctx, format)
}

// ask is Require by one look.
func (f *Formats) ask(ctx context.Context, format string) error {
	instances, err := f.instances(ctx)
	if err != nil {
		return fmt.Errorf("looking for instances that do not read %q: %w", format, err)
	}
	var old []string
	for _, i := range instances {
		if !slices.Contains(i.Formats, format) {
			old = append(old, strings.TrimSpace(i.Name+" "+i.Version))
		}
	}
	if len(old) > 0 {
		return fmt.Errorf("%w: %s do not read %q", order.ErrUpgrading, strings.Join(old, ", "), format)
	}
	return nil
}

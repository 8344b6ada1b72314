package partition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/internal/order"
)

// heartbeatAgain is how long Formats waits before it reads the heartbeats once more: longer than any living instance
// takes to send its next one.
const heartbeatAgain = time.Second

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
// those that start meanwhile included. Repeating it is harmless. Errors: as Require.
func (f *Formats) SwitchOn(ctx context.Context, format string) error {
	if err := f.Require(ctx, format); err != nil {
		return err
	}
	if err := f.raise(ctx); err != nil {
		return fmt.Errorf("switching %q on: %w", format, err)
	}
	return f.Require(ctx, format) // one may have read the ledger's word just before it was raised
}

// Require returns nil if all living instances read the format, or order.ErrUpgrading, which names the others. It takes
// a second, as it reads the heartbeats twice: a Redis that was just emptied has lost those of instances that live. It
// is for rare changes that a person asks for, and for what a process decides once. Errors: order.ErrUpgrading,
// order.ErrUnavailable.
func (f *Formats) Require(ctx context.Context, format string) error {
	if err := f.ask(ctx, format); err != nil {
		return err
	}
	select {
	case <-time.After(heartbeatAgain):
	case <-ctx.Done():
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

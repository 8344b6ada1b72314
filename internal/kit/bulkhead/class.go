package bulkhead

import "context"

// Class is a kind of caller.
type Class int8

// The classes, from the one that is shed first to the one that is shed last.
const (
	Unnamed    Class = iota // no class: counts as Purchase
	PublicRead              // vouchers, read by anybody
	OwnRead                 // buyers' own orders
	Background              // jobs that can wait: expiry, repairs, audits
	Purchase                // a purchase and what belongs to it: paying, cancelling, refunding
	Admin                   // admins, and health checks
	Recording               // accepted orders on their way to their rows
	classes    = int(Recording) + 1
)

// String returns the class's name in metrics, which stays.
func (c Class) String() string {
	return [classes]string{"unnamed", "public_read", "own_read", "background", "purchase", "admin", "recording"}[c]
}

// quarters is how many quarters of what is reserved for nobody may be taken when the class gets some.
func (c Class) quarters() int {
	switch c {
	case PublicRead:
		return 1
	case OwnRead:
		return 2
	case Background:
		return 3
	default:
		return 4
	}
}

type classKey struct{}

// With returns ctx with the class of those who work under it.
func With(ctx context.Context, c Class) context.Context {
	if Of(ctx) == c {
		return ctx
	}
	return context.WithValue(ctx, classKey{}, c)
}

// Of returns the class of those who work under ctx, Purchase unless it was named.
func Of(ctx context.Context) Class {
	if c, named := ctx.Value(classKey{}).(Class); named && c != Unnamed {
		return c
	}
	return Purchase
}

// Holding returns ctx for what is done with a permit of b: [Bulkhead.Held] is true under it.
func (b *Bulkhead) Holding(ctx context.Context) context.Context {
	return context.WithValue(ctx, b, true) // b is the key: nobody else's value has it
}

// Held reports whether ctx is that of somebody who has a permit of b already.
func (b *Bulkhead) Held(ctx context.Context) bool {
	held, _ := ctx.Value(b).(bool)
	return held
}

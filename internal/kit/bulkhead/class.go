package bulkhead

import "context"

// Class is a kind of caller.
type Class int8

// The classes, from the first to be shed to the last.
const (
	Unnamed    Class = iota // no class was set: counts as Purchase
	PublicRead              // vouchers, read by anybody
	OwnRead                 // buyers' own orders, and what merchants read of their shop
	Background              // jobs that can wait: expiry, repairs, audits
	Purchase                // buying, paying, cancelling, refunding
	Admin                   // admins, and health checks
	Recording               // accepted orders on their way to their rows
	classes    = int(Recording) + 1
)

// String returns the class's name in metrics. Never change it.
func (c Class) String() string {
	return [classes]string{"unnamed", "public_read", "own_read", "background", "purchase", "admin", "recording"}[c]
}

// quarters returns the class's limit: it may take free permits while fewer than this many quarters of them are taken.
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

// With returns ctx with the class of the work done under it.
func With(ctx context.Context, c Class) context.Context {
	if Of(ctx) == c {
		return ctx
	}
	return context.WithValue(ctx, classKey{}, c)
}

// Of returns the class of the work done under ctx; Purchase if none was set.
func Of(ctx context.Context) Class {
	if c, named := ctx.Value(classKey{}).(Class); named && c != Unnamed {
		return c
	}
	return Purchase
}

// Holding returns ctx for work that already holds a permit of b: [Bulkhead.Held] is true under it.
func (b *Bulkhead) Holding(ctx context.Context) context.Context {
	return context.WithValue(ctx, b, true) // b is its own key, which nobody else uses
}

// Held reports whether the work under ctx already holds a permit of b.
func (b *Bulkhead) Held(ctx context.Context) bool {
	held, _ := ctx.Value(b).(bool)
	return held
}

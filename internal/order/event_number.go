package order

// Number returns how many states the order has had since it was recorded, the present one included: 1 for a new row,
// and one more after each step. Each step sets a time that no earlier step sets and no later one resets, so the number
// only rises, without a counter. Actions of staff set no such time or reset one, so Revision counts those.
func (o Order) Number() int64 {
	n := 1 + o.Revision
	for _, at := range []interface{ IsZero() bool }{
		o.PaidAt, o.RedeemedAt, o.CancelledAt, o.RefundingAt, o.RefundedAt, o.LapsedAt,
	} {
		if !at.IsZero() {
			n++
		}
	}
	return n
}

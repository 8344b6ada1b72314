package order

// Number returns how many states the order has come to since it was recorded, the present one included: 1 for an
// order that has just got its row, and one more with each step. Each step sets a time that nothing sets before it or
// resets after it, so the number only rises, and needs no counter.
func (o Order) Number() int64 {
	n := int64(1)
	for _, at := range []interface{ IsZero() bool }{
		o.PaidAt, o.RedeemedAt, o.CancelledAt, o.RefundingAt, o.RefundedAt, o.LapsedAt,
	} {
		if !at.IsZero() {
			n++
		}
	}
	return n
}

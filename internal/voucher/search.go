package voucher

import "time"

// Search says which vouchers an admin asks for.
type Search struct {
	ShopID int64  // only this shop's; 0 for all but the shop of rehearsals
	Title  string // only those with this part in the title, in capitals or not; "" for any
	Before int64  // only those with a lower id
	Limit  int    // at most so many
}

// Found is a page of what a [Search] found.
type Found struct {
	Vouchers []Shown
	Next     int64 // Before of the page that follows; 0 when none does
	Now      time.Time
}

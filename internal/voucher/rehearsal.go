package voucher

const (
	// RehearsalShop is the shop of all rehearsals, and of nothing else: it is what marks a voucher as one.
	RehearsalShop int64 = 8_000_000_000_000_000
	// FirstRehearsalUser is the lowest id of the users who may buy in a rehearsal, and of those that loadgen makes up.
	FirstRehearsalUser int64 = 8_000_000_000_000_000
)

// Rehearsal reports whether the voucher rehearses the sale of another.
func (v Voucher) Rehearsal() bool { return v.ShopID == RehearsalShop }

// Admits reports whether there is such a voucher for the user: only made-up users buy in a rehearsal.
func (v Voucher) Admits(userID int64) bool { return !v.Rehearsal() || userID >= FirstRehearsalUser }

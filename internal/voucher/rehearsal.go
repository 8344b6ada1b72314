package voucher

const (
	// FirstAccount is the lowest id of the users who sign in by an identity provider.
	FirstAccount int64 = 1 << 52
	// LastAccount is the highest of their ids.
	LastAccount = FirstRehearsalUser - 1
	// RehearsalShop is the shop of all rehearsals and of nothing else, so it marks a voucher as a rehearsal.
	RehearsalShop int64 = 8_000_000_000_000_000
	// FirstRehearsalUser is the lowest id of the users who may buy in a rehearsal. loadgen takes its users from there
	// on.
	FirstRehearsalUser int64 = 8_000_000_000_000_000
)

// Rehearsal reports whether the voucher rehearses the sale of another.
func (v Voucher) Rehearsal() bool { return v.ShopID == RehearsalShop }

// Admits reports whether the user may know of the voucher: only made-up users buy in a rehearsal.
func (v Voucher) Admits(userID int64) bool { return !v.Rehearsal() || userID >= FirstRehearsalUser }

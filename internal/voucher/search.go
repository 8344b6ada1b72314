package voucher

import "time"

// ArchiveFilter says whether a list has archived vouchers: one of the constants, which are words of requests.
type ArchiveFilter string

// The filters.
const (
	NoArchived   ArchiveFilter = ""
	WithArchived ArchiveFilter = "true"
	OnlyArchived ArchiveFilter = "only"
)

// Search says which vouchers an admin asks for.
type Search struct {
	ShopID   int64  // only this shop's; 0: all except the shop of rehearsals
	Title    string // only those whose title contains it, regardless of case; "": any
	Archived ArchiveFilter
	Before   int64 // only those with a lower id
	Limit    int   // most vouchers returned
}

// Found is a page of the results of a [Search].
type Found struct {
	Vouchers []Shown
	Next     int64 // Before of the next page; 0: there is none
	Now      time.Time
}

package voucher

// ShopSearch says which shops are searched for.
type ShopSearch struct {
	Number int64  // one with this number; 0: none
	Part   string // those with this part of a name, in upper or lower case; "": none
	Only   int64  // the only shop that may be found; 0: any
	Limit  int    // how many are found by their names at most
}

// FoundShop is a shop that a search has found.
type FoundShop struct {
	ID     int64
	ByName bool // else by its number
}

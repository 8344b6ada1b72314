package split

// Look is all shares of a sale by number, read one after the other.
type Look []Share

// Share is one share as it was at the moment when it was read in Redis.
type Share struct {
	// Known is false where it cannot be said what the share has: it is missing or being rebuilt, or another server opened it,
	// which may have lost some of it.
	Known bool
	// Open is false where the share sells nothing whatever it has: it is paused or off the shelf, or a rebuild has just ended.
	Open bool

	Epoch     int64
	Operation int64 // number of the last one applied
	Corrected int64 // units that corrections have put back on sale

	MovedOut int64 // units that moves have taken from it, and
	MovedIn  int64 // given to it, since the sale was created; as applied in Redis

	Sellable int64 // units that it can sell, or could if it were open
	Waiting  int64 // units that came back or are reserved, and cannot be sold yet
	Kept     bool  // it was just given units, which other shares may not pull yet
}

// AtMost returns how many units all shares together had to sell, at most, at one moment between two looks, the second of which
// began after the first had ended. None was on its way from one to another at that moment. It is false where the looks do not
// say so: a share is not known, it came by units in between, or units have left one that have not arrived in another.
func AtMost(first, second Look) (units int64, known bool) {
	if len(first) == 0 || len(first) != len(second) {
		return 0, false
	}
	var out, in int64
	for i, s := range second {
		if !s.gainedNothingSince(first[i]) {
			return 0, false
		}
		units, out, in = units+first[i].Sellable, out+s.MovedOut, in+s.MovedIn
	}
	return units, out == in
}

// SoldOut reports whether two looks show that at one moment there was nothing to sell; and whether nothing waits either, so that
// it may be said from memory. Where units wait beyond both looks, it is true now and may be false soon.
func SoldOut(first, second Look) (soldOut, remember bool) {
	units, known := AtMost(first, second)
	if !known || units > 0 {
		return false, false
	}
	for _, s := range second {
		if s.Waiting > 0 {
			return true, false
		}
	}
	return true, true
}

// gainedNothingSince reports whether no unit came to a share since an earlier look: it can only have sold some.
func (s Share) gainedNothingSince(earlier Share) bool {
	return s.Known && earlier.Known && s.Sellable <= earlier.Sellable &&
		s.Epoch == earlier.Epoch && s.Operation == earlier.Operation && s.Corrected == earlier.Corrected &&
		s.MovedOut == earlier.MovedOut && s.MovedIn == earlier.MovedIn && s.Waiting == earlier.Waiting
}

// Waiting is how many units of the shares came back or are reserved, and cannot be sold yet.
func (l Look) Waiting() int64 {
	var units int64
	for _, s := range l {
		units += s.Waiting
	}
	return units
}

// Sellable is how many units the shares can sell between them.
func (l Look) Sellable() int64 {
	var units int64
	for _, s := range l {
		if s.Known && s.Open {
			units += s.Sellable
		}
	}
	return units
}

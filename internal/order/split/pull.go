package split

import "time"

// KeepFor is for how long a share keeps what it was given from the pulls of others, by Redis's clock, unless it has sold of it
// before: so two shares with buyers do not pull the last unit to and fro, and one whose buyers have gone does not keep it.
const KeepFor = 2 * time.Second

// Pull is a move that a share asks for.
type Pull struct {
	From  int // the share that gives
	Units int64
}

// PullFor returns the pull of a share whose buyers want that many units more than it has: from the share that can sell most,
// the lowest of several. It is half of what that share has, so that the next is needed later, but no less than is wanted, as far
// as there is as much. It is false where no other share can give any now.
func (l Look) PullFor(share int, wanted int64) (Pull, bool) {
	pull, most := Pull{}, int64(0)
	for i, s := range l {
		if i != share && s.Known && s.Open && !s.Kept && s.Sellable > most {
			pull.From, most = i, s.Sellable
		}
	}
	if most == 0 || wanted < 1 {
		return Pull{}, false
	}
	pull.Units = min(most, max(wanted, most/2))
	return pull, true
}

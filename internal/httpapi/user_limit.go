package httpapi

import (
	"math/bits"
	"sync"
	"time"
)

const (
	userShards = 64 // a power of two
	// shardUsers is how many users a shard knows in each of its two generations: half a million in all, some 40 bytes
	// each. Beyond that the longest unseen are forgotten, which is to their advantage.
	shardUsers = 1 << 13
)

// userLimit is a token bucket for each user, filled at a steady rate up to a burst. It is kept as in the generic cell rate
// algorithm (ITU-T I.371, annex A): all that there is to know of a bucket is when it will be full again, and a bucket that
// is full need not be known at all.
//
// So a user costs two numbers in a map, because the crowd is half a million users who ask once: a limiter object for each,
// in a cache with expiry, costs five times the time and the memory. Nothing cleans up by itself. Each shard has two
// generations of users; one that is as old as an empty bucket takes to fill becomes the older one, and the older one,
// whose users were not seen since and therefore have full buckets, is dropped.
type userLimit struct {
	opened time.Time
	token  time.Duration // in which a bucket gets one token
	filled time.Duration // in which an empty bucket becomes full
	shards [userShards]userShard
}

// userShard is a part of the users. The maps hold when a bucket will be full, since opened.
type userShard struct {
	mu       sync.Mutex
	began    time.Duration // when the younger generation did, since opened
	younger  map[int64]time.Duration
	older    map[int64]time.Duration
	capacity int
}

// newUserLimit returns full buckets of so many tokens, to which rate tokens come each second; nil for a rate of 0.
func newUserLimit(rate, burst int, now time.Time) *userLimit {
	if rate == 0 {
		return nil
	}
	token := time.Second / time.Duration(rate)
	l := &userLimit{opened: now, token: token, filled: token * time.Duration(burst)}
	for i := range l.shards {
		l.shards[i] = userShard{younger: make(map[int64]time.Duration), capacity: shardUsers}
	}
	return l
}

// allow takes a token out of the user's bucket, or returns false if there is none. now may lag by as much as requests
// overtake one another. A nil limit allows everything.
func (l *userLimit) allow(userID int64, now time.Time) bool {
	if l == nil {
		return true
	}
	return l.shards[shardOf(userID)].allow(userID, now.Sub(l.opened), l.token, l.filled)
}

// shardOf spreads users who have their ids in a row, or in steps (Fibonacci hashing: Knuth, volume 3, section 6.4).
func shardOf(userID int64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return uint64(userID) * golden >> (64 - bits.TrailingZeros(userShards))
}

func (s *userShard) allow(userID int64, now, token, filled time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.began >= filled || len(s.younger) >= s.capacity {
		s.older, s.younger, s.began = s.younger, make(map[int64]time.Duration), now
	}
	full, known := s.younger[userID]
	if !known {
		full = s.older[userID]
	}
	full = max(full, now) + token
	if full-now > filled {
		return false
	}
	s.younger[userID] = full
	return true
}

package httpapi

import (
	"math/bits"
	"sync"
	"time"
)

const (
	limitShards = 64 // a power of two
	// shardCallers is how many callers a shard knows in each of its two generations: half a million in all, some 40
	// bytes each. Beyond that it forgets the callers seen least recently, which gives them full buckets.
	shardCallers = 1 << 13
)

// rateLimit is a token bucket for each caller, filled at a steady rate up to a burst. It works like the generic cell
// rate algorithm (ITU-T I.371, annex A): the state of a bucket is the time at which it will be full again, and a full
// bucket needs no state.
//
// So a caller costs two numbers in a map. In a rush half a million users ask once each: a limiter object for every one,
// in a cache with expiry, costs five times the time and the memory. Nothing is cleaned up in the background. Each
// shard has two generations of callers; one that is as old as an empty bucket takes to fill becomes the older one, and
// the older one, whose callers were not seen since and therefore have full buckets, is dropped.
type rateLimit[K comparable] struct {
	started time.Time
	token   time.Duration // in which a bucket gets one token
	filled  time.Duration // in which an empty bucket becomes full
	shardOf func(K) uint64
	shards  [limitShards]limitShard[K]
}

// limitShard is a part of the callers. The maps hold when a bucket will be full, since started.
type limitShard[K comparable] struct {
	mu       sync.Mutex
	began    time.Duration // when the younger generation began, since started
	younger  map[K]time.Duration
	older    map[K]time.Duration
	capacity int
}

// newRateLimit returns full buckets of burst tokens, to which rate tokens are added each second; nil for a rate of 0.
// shardOf spreads callers over the shards.
func newRateLimit[K comparable](rate, burst int, now time.Time, shardOf func(K) uint64) *rateLimit[K] {
	if rate == 0 {
		return nil
	}
	token := time.Second / time.Duration(rate)
	l := &rateLimit[K]{started: now, token: token, filled: token * time.Duration(burst), shardOf: shardOf}
	for i := range l.shards {
		l.shards[i] = limitShard[K]{younger: make(map[K]time.Duration), capacity: shardCallers}
	}
	return l
}

// newUserLimit returns the buckets of users.
func newUserLimit(rate, burst int, now time.Time) *rateLimit[int64] {
	return newRateLimit(rate, burst, now, shardOfUser)
}

// shardOfUser spreads users whose ids are consecutive, or in steps (Fibonacci hashing: Knuth, volume 3, section 6.4).
func shardOfUser(userID int64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return uint64(userID) * golden >> (64 - bits.TrailingZeros(limitShards))
}

// allow takes a token out of the caller's bucket, or returns false if there is none. Concurrent callers may pass now
// slightly out of order. A nil limit allows everything.
func (l *rateLimit[K]) allow(caller K, now time.Time) bool {
	if l == nil {
		return true
	}
	return l.shards[l.shardOf(caller)].ask(caller, now.Sub(l.started), l.token, l.filled, true)
}

// has reports whether there is a token in the caller's bucket, and takes none.
func (l *rateLimit[K]) has(caller K, now time.Time) bool {
	return l.shards[l.shardOf(caller)].ask(caller, now.Sub(l.started), l.token, l.filled, false)
}

func (s *limitShard[K]) ask(caller K, now, token, filled time.Duration, take bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now-s.began >= filled || len(s.younger) >= s.capacity {
		s.older, s.younger, s.began = s.younger, make(map[K]time.Duration), now
	}
	full, known := s.younger[caller]
	if !known {
		full = s.older[caller]
	}
	full = max(full, now) + token
	if full-now > filled {
		return false
	}
	if take {
		s.younger[caller] = full
	}
	return true
}

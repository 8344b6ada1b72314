// Package candidate has the names of the candidates in results and reports: measurements write them, reports look them
// up, and neither knows the other.
package candidate

import "strings"

// The designs that lead to this service (lab/bench/stages), and the service.
const (
	Gin       = "plain Gin"
	Bare      = "bare handler"
	Check     = "database only, check then write"
	Update    = "database only, UPDATE … WHERE stock > 0"
	UserLock  = "the same, a lock per user in the process"
	RedisLock = "lock around everything, in Redis"
	Memory    = "in-memory queue"
	List      = "list as queue"
	Pubsub    = "pub/sub as queue"
	Stream    = "stream, as the tutorials do"
	Service   = "this service"
)

// Kinds of locks in Redis, whose holders stall.
const (
	Ownerless   = "no owner"
	CheckDelete = "owner checked, then deleted"
	Unrenewed   = "owner checked by the script that deletes, not renewed"
	Renewed     = "this service's lock"
)

// Some of these under other conditions.
const (
	Always      = Service + "; appendfsync always"
	SoldOut     = Service + "; sold out"
	StreamHeld  = Stream + "; recording held back"
	ServiceHeld = Service + "; recording held back"
	GinHalf     = Gin + "; at the same rate"
	ServiceHalf = Service + "; at half load"
	OneSale     = Service + "; one sale, nobody has bought"
	ManySales   = Service + "; many sales in turn, much stock"
	SmallSales  = Service + "; many sales in turn, 100 units each"
	FullSale    = Service + "; one sale, many have bought"
	GinList     = Gin + "; a list of 50 vouchers"
	ServiceList = Service + "; a list of 50 vouchers"
	Readers     = Service + "; at half load, 200 readers of a list of 1 MB"
	TwoOfThem   = " × 2" // behind a name: two processes
)

// The limits of the stores alone.
const (
	RawScript  = "raw script, one buyer per call"
	RawScripts = "raw script, 128 buyers per call"
	RawInsert  = "raw insert"
)

// HMAC is one HMAC-SHA256 of a token: the least that checking a request's token costs.
const HMAC = "one HMAC of a token"

// OfService reports whether the service has a part in a candidate: it is the service itself, or has a rate that follows
// from the service's.
func OfService(name string) bool { return strings.HasPrefix(name, Service) || name == GinHalf }

// All returns all candidates in the order of the report, which is that of the designs.
func All() []string {
	return []string{
		Gin, Bare, Check, Update, UserLock, RedisLock, Memory, List, Pubsub, Stream, Service, Always, SoldOut,
		StreamHeld, ServiceHeld, RawScript, RawScripts, RawInsert, HMAC, GinHalf, ServiceHalf, Readers, ServiceList,
		GinList, OneSale, ManySales, SmallSales, FullSale,
	}
}

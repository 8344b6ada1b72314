package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"seckill/internal/order"
)

// group is the consumer group that records orders, one on each stream.
const group = "recorder"

// The fields of a sale's hash. Numbers are decimal text.
const (
	fieldMode       = "mode"        // what it does: one of the mode words below
	fieldStock      = "stock"       // units that can be sold now
	fieldReturned   = "returned"    // units that came back to the sold-out sale and cannot be sold yet (rule 11)
	fieldReturnedAt = "returned_at" // from when they can be, milliseconds since 1970 by Redis's clock
	fieldBegin      = "begin"       // window, milliseconds since 1970
	fieldEnd        = "end"         // exclusive
	fieldEpoch      = "epoch"       // raised by every rebuild (rule 9)
	fieldSequence   = "seq"         // admissions in this epoch
	fieldOperation  = "op"          // number of the last operation that is applied (rule 1)
	fieldTakes      = "takes"       // outcomes of takes that may still be asked for, "12=1 15=0": number, got its units
	fieldReserved   = "reserved"    // number of the revival for which a returned unit is kept, 0 for none (rule 11)
	fieldReservedAt = "reserved_at" // from when it is the user's, milliseconds since 1970
	fieldBuilding   = "building"    // epoch of the rebuild under way, 0 when none is
	fieldResumes    = "resumes"     // from when a rebuilt sale sells, milliseconds since 1970; 0 for at once (rule 11)
	fieldStopped    = "stopped"     // when its last rebuild stopped it, milliseconds since 1970
	fieldServer     = "server"      // run id of the server on which its last rebuild stopped and opened it, "" when it is not told
	fieldReturnedIn = "returned_in" // epoch of the last rebuild during which a unit came back, 0 or absent for none
)

// The words in a sale's mode field.
const (
	modeOpen    = "open"
	modePaused  = "paused"
	modeOff     = "off"
	modeRebuild = "rebuild"
)

// The fields of a stream entry, short as there is one entry for each accepted order.
const (
	entryVoucher  = "v"
	entryUser     = "u"
	entryOrder    = "o"
	entryEpoch    = "e"
	entrySequence = "s"
)

// keys names every key of this package. All keys of one partition share a hash tag, and so one slot of a Redis
// Cluster: the scripts need that.
type keys struct {
	prefix string // in front of everything, so that installations and tests can share a server; usually empty
}

// newKeys refuses a prefix that would change the keys' hash tag.
func newKeys(prefix string) (keys, error) {
	if strings.ContainsAny(prefix, "{}") {
		return keys{}, fmt.Errorf("key prefix %q holds a brace, which would change the hash tag", prefix)
	}
	return keys{prefix: prefix}, nil
}

// sale is the state of a sale (hash).
func (k keys) sale(s order.SaleRef) string {
	return k.partition(s.Partition) + ":sale:" + strconv.FormatInt(s.VoucherID, 10)
}

// buyers is who holds a place in a sale (hash: user id → order id).
func (k keys) buyers(s order.SaleRef) string {
	return k.partition(s.Partition) + ":buyers:" + strconv.FormatInt(s.VoucherID, 10)
}

// tally is what the applicants of a sale were told (hash: what → how many). It expires a day after the last of them.
func (k keys) tally(s order.SaleRef) string {
	return k.partition(s.Partition) + ":tally:" + strconv.FormatInt(s.VoucherID, 10)
}

// testified is what witnesses hand in while a sale stands still (hash: order id → "user id epoch sequence").
func (k keys) testified(s order.SaleRef) string {
	return k.partition(s.Partition) + ":testified:" + strconv.FormatInt(s.VoucherID, 10)
}

// heard is who has handed in all he remembers of it (hash: witness → "epoch sequence", the highest mark he has seen).
func (k keys) heard(s order.SaleRef) string {
	return k.partition(s.Partition) + ":heard:" + strconv.FormatInt(s.VoucherID, 10)
}

// witnesses is when each witness of a partition attended last (sorted set: name → milliseconds since 1970).
func (k keys) witnesses(partition int) string { return k.partition(partition) + ":witnesses" }

// stops is when each sale of a partition was stopped last (sorted set: voucher id → milliseconds since 1970).
func (k keys) stops(partition int) string { return k.partition(partition) + ":stops" }

// orders is a partition's accepted orders that wait for their rows (stream).
func (k keys) orders(partition int) string { return k.partition(partition) + ":orders" }

// dead is a partition's entries that could not be decoded (stream).
func (k keys) dead(partition int) string { return k.partition(partition) + ":dead" }

// consumers is when each consumer of a partition's stream last beat (sorted set: name → milliseconds since 1970).
func (k keys) consumers(partition int) string { return k.partition(partition) + ":consumers" }

// confirmed is how often replicas were asked whether they have what was accepted (string, a number). There is none where
// they are not asked.
func (k keys) confirmed() string { return k.prefix + "confirmed" }

func (k keys) partition(partition int) string { return k.prefix + "{p" + strconv.Itoa(partition) + "}" }

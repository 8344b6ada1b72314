package redisstore

import (
	"strconv"

	"seckill/internal/order"
)

// group is the consumer group that records orders, one on each stream.
const group = "recorder"

// The words in a sale's mode field.
const (
	modeOpen    = "open"
	modePaused  = "paused"
	modeOff     = "off"
	modeOver    = "over"
	modeRebuild = "rebuild"
)

// The fields of a stream entry. Their names are short, as there is one entry per accepted order.
const (
	entryVoucher  = "v"
	entryUser     = "u"
	entryOrder    = "o"
	entryEpoch    = "e"
	entrySequence = "s"
	entryTraces   = "t" // only if an order of its call is followed
)

// keys names all keys of sales and partitions except those of features and of package inspect; package idcounter names
// those of order ids. All keys of one partition share a hash tag, and so a slot of a Redis Cluster, as the scripts
// require.
type keys struct {
	prefix string // before every key, so that installations and tests can share a server; usually empty
}

// The keys of a sale end in the voucher's id.

// sale is the state of a sale (hash). Only scripts read and write its fields, which README.md lists
// (generated from sale_fields_test.go).
func (k keys) sale(s order.SaleRef) string {
	sale, _ := k.ofSale(s)
	return sale
}

// buyers is the holders of a sale (hash: user id → order: holders.go).
func (k keys) buyers(s order.SaleRef) string {
	_, buyers := k.ofSale(s)
	return buyers
}

func (k keys) ofSale(s order.SaleRef) (sale, buyers string) {
	tag, id := k.partition(s.Partition), strconv.FormatInt(s.VoucherID, 10)
	return tag + ":sale:" + id, tag + ":buyers:" + id
}

// outcomes counts the answers to a sale's requests, and how long they took (hash: answer or bucket → count). It expires
// a day after the last addition.
func (k keys) outcomes(s order.SaleRef) string {
	return k.partition(s.Partition) + ":outcomes:" + strconv.FormatInt(s.VoucherID, 10)
}

// reports is the recovery reports about a stopped sale (hash: order → "user id epoch sequence").
func (k keys) reports(s order.SaleRef) string {
	return k.partition(s.Partition) + ":reports:" + strconv.FormatInt(s.VoucherID, 10)
}

// reported is the reporters whose report is complete (hash: reporter → "epoch sequence", the highest mark it has seen).
func (k keys) reported(s order.SaleRef) string {
	return k.partition(s.Partition) + ":reported:" + strconv.FormatInt(s.VoucherID, 10)
}

// reporters is the last heartbeat of each reporter of a partition (sorted set: name → milliseconds since 1970).
func (k keys) reporters(partition int) string { return k.partition(partition) + ":reporters" }

// stops is when each sale of a partition was last stopped (sorted set: sale → milliseconds since 1970).
func (k keys) stops(partition int) string { return k.partition(partition) + ":stops" }

// format is a partition's word, which names the format and the owner of its data (string).
func (k keys) format(partition int) string { return k.partition(partition) + ":format" }

// orders has a partition's accepted orders that wait for their rows (stream).
func (k keys) orders(partition int) string { return k.partition(partition) + ":orders" }

// dead is a partition's entries that could not be decoded (stream).
func (k keys) dead(partition int) string { return k.partition(partition) + ":dead" }

// consumers is the last heartbeat of each consumer of a partition's stream (sorted set: name → milliseconds since
// 1970).
func (k keys) consumers(partition int) string { return k.partition(partition) + ":consumers" }

// list is the version of a shop's list (string). It expires an hour after its last replacement; instances cache texts
// for less time.
func (k keys) list(shopID int64) string {
	return k.partition(0) + ":list:" + strconv.FormatInt(shopID, 10)
}

// confirmed counts how often replicas were asked to confirm (string, a number). It is missing if they never are.
func (k keys) confirmed() string { return k.prefix + "confirmed" }

// confirmedIn is confirmed on a cluster, where it must be in the slot of a partition's sales.
func (k keys) confirmedIn(partition int) string { return k.partition(partition) + ":confirmed" }

func (k keys) partition(partition int) string { return k.prefix + "{p" + strconv.Itoa(partition) + "}" }

// Package durability measures what a Redis loses of the orders that it has acknowledged, at each level of durability that the
// service offers: when its process is killed, when the power fails, when a replica takes over.
//
// Asked is Redis alone, through the service's own adapter: as if the instances, which remember what they were told, and MySQL,
// which has most orders some hundredths of a second later, were gone in the same moment. So the figures are the worst that
// can happen to a shop, and what it really loses is less (F20 and F21 in docs/reliability.md).
//
// A power cut keeps what was flushed to the disk and nothing else. A library that is loaded into redis-server
// (testdata/flushed.c) notes how much of the append-only file was, at each flush, and the file is cut back to that.
//
// Every run checks that a level loses nothing where it promises that. make durability repeats it, and writes the table into
// the READMEs.
package durability

// Package durability measures what a Redis loses of the orders that it has acknowledged, at each level of durability
// that the service offers: when its process is killed, when the power fails, when a replica takes over.
//
// It checks Redis alone, through the service's own adapter: as if the instances with their recent accepts, and MySQL,
// which has most orders some hundredths of a second later, were lost at the same time. So the figures are the worst
// case; a real shop loses less (F20 and F21 in docs/reliability.md).
//
// A power cut keeps what was flushed to the disk and nothing else. A library that is loaded into redis-server
// (testdata/flushed.c) records the length of the append-only file at each flush, and the file is truncated to that.
//
// Every run checks that a level loses nothing where it promises so. make -C lab durability repeats the runs, and
// writes the table into docs/durability.md.
package durability

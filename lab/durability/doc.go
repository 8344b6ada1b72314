// Package durability measures how many acknowledged orders a Redis loses, at each level of durability that the service
// offers: when its process is killed, when the power fails, and when a replica takes over.
//
// It tests Redis alone, through the service's own adapter: as if at the same time the instances with their recent
// accepts were lost, and MySQL, which has most orders some hundredths of a second later. So the figures are the worst
// case; a real shop loses less (F20 and F21 in lab/notes/faults.md).
//
// A power cut keeps only data that was flushed to the disk. A library that is loaded into redis-server
// (testdata/flushed.c) records the length of the append-only file at each flush, and the test truncates the file to
// that length.
//
// Every run checks that a level loses nothing if it promises so. make -C lab durability repeats the runs and writes the
// table into lab/notes/durability.md.
package durability

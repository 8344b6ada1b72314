// Package rebuild measures how long a sale stands still when Redis has forgotten it: from the moment an instance rebuilds
// it until it sells again, on a real Redis that flushes every write and a real MariaDB. make bench-rebuild runs it.
package rebuild

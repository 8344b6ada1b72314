// Package rebuild measures how long a sale stops when Redis has lost it: from the start of the rebuild until the sale
// sells again, on a real Redis that flushes every write and a real MariaDB. make -C lab bench WHAT=rebuild runs it.
package rebuild

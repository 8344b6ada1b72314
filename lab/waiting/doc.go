// Package waiting measures who gets the units that come back to a sale with a waiting list.
package waiting

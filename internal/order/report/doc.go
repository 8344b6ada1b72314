// Package report says what a sale has left behind: how its requests were answered, and what became of its orders.
package report

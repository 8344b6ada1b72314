// Package reason has the codes that say why something happened to an order, and why an order could not be recorded,
// with their words in both languages. The codes are stored, and programs read them.
package reason

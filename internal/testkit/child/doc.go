// Package child is about the programs that tests and measurements start beside themselves.
package child

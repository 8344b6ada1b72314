// Package install tests that the service can be had by its name: a copy of the checkout is renamed to a path that the
// Go tool can fetch, offered by a module proxy, and installed from there as a stranger would.
package install

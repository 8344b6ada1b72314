// Package shoptest opens the API with the shop's routes on fakes, for the tests of httpapi and of httpapi/shop. It is
// for tests only.
package shoptest

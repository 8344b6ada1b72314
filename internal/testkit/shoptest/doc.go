// Package shoptest opens the API with the shop's routes on fakes, for the tests of httpapi and of the packages
// below it. It is for tests only.
package shoptest

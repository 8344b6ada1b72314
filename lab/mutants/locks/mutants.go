package main

import "slices"

// mutation is one bug, and the row of the conformance suite that must notice it.
type mutation struct {
	name    string
	changes []change
	kind    string // of lock
	row     int
}

// change replaces the one place of a file, beside the package's, where a text stands.
type change struct{ file, from, to string }

// mutants returns all bugs. A new kind of lock adds its own.
func mutants() []mutation {
	return slices.Concat(
		inScripts(), inReleases(), inPackage(), inGroups(), inQueues(),
		atEdges(), inUse(), inTogether(), inSmallPrint(),
	)
}

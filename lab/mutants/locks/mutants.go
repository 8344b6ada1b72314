package main

import "slices"

// mutation is one bug, and the row of the conformance suite that must notice it.
type mutation struct {
	name    string
	changes []change
	kind    string // of lock
	row     int
}

// change replaces a text that occurs once in a file of the package.
type change struct{ file, from, to string }

// mutants returns all bugs. A new kind of lock adds its own.
func mutants() []mutation {
	return slices.Concat(
		inScripts(), inReleases(), inPackage(), inGroups(), inQueues(),
		atEdges(), inUse(), inTogether(), inSmallPrint(), inFourth(),
	)
}

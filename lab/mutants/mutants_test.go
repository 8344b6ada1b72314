package main

import (
	"testing"

	"seckill/lab/mutant"
)

// TestMutantsApply finds mutants whose text is no longer in the code.
func TestMutantsApply(t *testing.T) {
	t.Chdir("../..") // changes are named as seen from the top of the clone
	if err := mutant.Check(mutants()); err != nil {
		t.Error(err)
	}
}

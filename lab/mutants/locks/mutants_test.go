package main

import (
	"testing"

	"seckill/lab/mutant"
)

// TestMutantsApply finds a mutant whose text is not in the code any more.
func TestMutantsApply(t *testing.T) {
	t.Chdir("../../..") // changes are named as seen from the top of the clone
	if err := mutant.Check(runnable()); err != nil {
		t.Error(err)
	}
}

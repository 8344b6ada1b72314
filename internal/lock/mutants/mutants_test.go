package main

import (
	"testing"

	"seckill/test/overlay"
)

// TestMutantsAreUpToDate catches a mutant whose text is not in the code any more: it would be found out only when somebody
// tries it, which takes long.
func TestMutantsAreUpToDate(t *testing.T) {
	t.Chdir("../../..") // changes are named as seen from the module's root
	for _, m := range mutants() {
		if _, err := overlay.Write(t.TempDir(), m.files()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

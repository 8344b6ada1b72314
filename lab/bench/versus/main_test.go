package versus

import (
	"strings"
	"testing"
)

// TestParse: mistakes on the command line are reported before anything is built.
func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args  string
		wrong bool
	}{
		{"", true},
		{"-old x", false},
		{"-old x -new y -rounds 1", false},
		{"-old x -rounds 0", true},
		{"-old x -duration 0s", true},
		{"-old x -connections 0", true},
		{"-old x y", true},
		{"-old x -shares both", false},
		{"-old x -shares old", true},
		{"-smoke", false},
		{"-smoke -old x", true},
		{"-smoke -out .", true},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(strings.Fields(tt.args), t.Output()); (err != nil) != tt.wrong {
				t.Errorf("error %v, want one: %v", err, tt.wrong)
			}
		})
	}
}

package main

import (
	"io"
	"strings"
	"testing"
)

// Arguments that make no sense are refused, before anything is measured.
func TestParse(t *testing.T) {
	t.Parallel()
	for args, right := range map[string]bool{
		"":                           true,
		"-rounds 1 -duration 200ms":  true,
		"-out x.json":                true,
		"-render x.json":             true,
		"-smoke":                     true,
		"-rounds 0":                  false,
		"-duration 100ms":            false,
		"-out x.json -render x.json": false,
		"-out x.json -smoke":         false,
		"-render x.json -smoke":      false,
		"docs/benchmarks/scale.json": false,
		"-shares x":                  false,
	} {
		if _, err := parse(strings.Fields(args), io.Discard); (err == nil) != right {
			t.Errorf("%q: %v", args, err)
		}
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// The page shows what the stored figures say.
func TestPageIsRendered(t *testing.T) {
	t.Parallel()
	f, err := readFigures("../../docs/benchmarks/scale.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	sections := sectionsOf(f)
	for _, name := range sectionNames() {
		if !strings.Contains(string(text), "<!-- measured: "+name+" -->\n"+sections[name]+"<!-- measured until here -->\n") {
			t.Errorf("section %q is not that of the figures: make bench-scale-render", name)
		}
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	right := sectionsOf(measured(1))
	for name, words := range map[string][]string{
		sectionCurve:       {"| 128 | 450 | 30,000 | 26.6 (26.6–26.6) |", "| 128 \\* | 16 |"},
		sectionModel:       {"| Redis | 4.0 | 137 |"},
		sectionPredictions: {"| 2 | 4 | 128 | 30,000 | 16, 56 |", "12.6 / 12.6: +0 %", "together +0 to +0 %"},
		sectionCalculation: {"| 1,000,000 |", "60 % of each processor"},
	} {
		for _, w := range words {
			if !strings.Contains(right[name], w) {
				t.Errorf("section %s lacks %q:\n%s", name, w, right[name])
			}
		}
	}
	if wrong := sectionsOf(measured(2))[sectionCalculation]; !strings.HasPrefix(wrong, "No calculation") {
		t.Errorf("the model is off, and yet: %s", wrong)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 12_345_678: "12,345,678"} {
		if got := number(n); got != want {
			t.Errorf("%v is %q", n, got)
		}
	}
}

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// elements reads a drawing as XML and counts its elements by name and class.
func elements(t *testing.T, svg string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					count[e.Name.Local+"."+a.Value]++
				}
			}
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	b := Bars{
		Title: "a < b", Series: []string{"one", "two"}, Mark: 100, Marked: "target",
		Rows: []Row{
			{Label: "both", Bars: []Bar{{Value: 10, Low: 5, High: 20}, {Value: 7}}},
			{Label: "second", Bars: []Bar{{}, {Value: 100, Low: 100, High: 100, Text: "many & more"}}},
			{Label: "none", Bars: []Bar{{}, {}}},
		},
	}
	got := elements(t, b.SVG())
	want := map[string]int{
		"rect.fill0": 1 + 1, "rect.fill1": 1 + 2, // with the legend's
		"text.label":   2, // a row without bars is left out
		"line.whisker": 3, "line.mark": 1, "rect.back": 1,
	}
	for what, n := range want {
		if got[what] != n {
			t.Errorf("%d × %s, want %d", got[what], what, n)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	l := Lines{Title: "over time", X: "seconds", Panels: []Panel{
		{Title: "orders", Lines: []Line{{Name: "a", Points: [][2]float64{{0, 0}, {10, 50}}}, {Name: "b", Points: [][2]float64{{0, 0}, {10, 100}}}}},
		{Title: "waiting", Lines: []Line{{Name: "c", Points: [][2]float64{{0, 3}}}}},
	}}
	svg := l.SVG()
	got := elements(t, svg)
	if got["polyline.line0"] != 2 || got["polyline.line1"] != 1 {
		t.Errorf("lines: %v", got)
	}
	// The second line rises to the top of its panel, the first to its middle.
	if !strings.Contains(svg, `class="line1" points="96.0,240.0 854.0,70.0"`) || !strings.Contains(svg, `class="line0" points="96.0,240.0 854.0,155.0"`) {
		t.Errorf("points are elsewhere:\n%s", svg)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for most, want := range map[float64][]float64{
		0:      {0, 1},
		100:    {0, 20, 40, 60, 80, 100},
		41_000: {0, 10_000, 20_000, 30_000, 40_000, 50_000},
		7:      {0, 2, 4, 6, 8},
	} {
		if got := ticks(most); !slices.Equal(got, want) {
			t.Errorf("ticks(%v) = %v, want %v", most, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 2.5: "2.5", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", 12.6: "13"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

package pages

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestAccents checks that whatever colour a shop has, its links and buttons can be read in light and in dark mode.
func TestAccents(t *testing.T) {
	t.Parallel()
	parse := func(hex string) (c colour) {
		var v [3]int
		for i := range v {
			for _, digit := range hex[1+2*i : 3+2*i] {
				v[i] = v[i]*16 + strings.IndexRune("0123456789abcdef", digit)
			}
			c[i] = float64(v[i])
		}
		return c
	}
	declared := regexp.MustCompile(`--([a-z-]+): light-dark\((#\w{6}), (#\w{6})\);`)
	for _, hex := range []string{
		"#000000", "#ffffff", "#ffee00", "#0b6b45", "#b93312", "#7f7f7f", "#0000ff", "#00ffcc",
	} {
		rules := map[string][2]colour{}
		for _, rule := range declared.FindAllStringSubmatch(accents(hex), -1) {
			rules[rule[1]] = [2]colour{parse(rule[2]), parse(rule[3])}
		}
		for mode, paper := range []colour{parse("#ffffff"), parse("#1d1f26")} {
			for _, pair := range [][2]colour{
				{rules["accent"][mode], paper},
				{rules["accent"][mode], rules["accent-tint"][mode]},
				{rules["on-accent"][mode], rules["accent"][mode]},
				{rules["on-accent"][mode], rules["accent-deep"][mode]},
			} {
				if got := contrast(pair[0], pair[1]); got < 4.5 {
					t.Errorf("%s, mode %d: the contrast of %s and %s is %.2f", hex, mode, pair[0], pair[1], got)
				}
			}
		}
	}
	files := fstest.MapFS{"assets/base.css": {Data: []byte(":root { --accent: red; }")}}
	h, _ := open(t, files, Site{Colour: "#0b6b45"})
	got := text(t, ask(t, h, http.MethodGet, "/assets/base.css").Body)
	if !strings.Contains(got, "--accent: light-dark(#0b6b45, ") {
		t.Errorf("base.css is %s", got)
	}
}

// Package chart draws two kinds of charts as SVG files: bars, and lines over time. They need nothing beside them and
// follow the reader's light or dark setting.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Both palettes keep a contrast of 4.5 to 1 or more between text and background, and their two colours apart also for
// the colour-blind.
const style = `<style>
.back{fill:#ffffff}.grid{stroke:#d0d7de;stroke-width:1}.mark{stroke:#1f2328;stroke-width:1.5;stroke-dasharray:4 3}
text{fill:#1f2328;font:13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.title{font-size:15px;font-weight:600}.small,.figure{fill:#59636e;font-size:12px}.figure{paint-order:stroke;stroke:#ffffff;stroke-width:5px;stroke-linejoin:round}.whisker{stroke:#1f2328;stroke-width:1.2}
.fill0{fill:#0969da}.fill1{fill:#d4760a}.fill2{fill:#8250df}
.line0,.line1,.line2{fill:none;stroke-width:2}.line0{stroke:#0969da}.line1{stroke:#d4760a}.line2{stroke:#8250df}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117}.grid{stroke:#30363d}.mark,.whisker{stroke:#e6edf3}text{fill:#e6edf3}.small,.figure{fill:#9198a1}.figure{stroke:#0d1117}
.fill0{fill:#4493f8}.fill1{fill:#e3a04f}.fill2{fill:#ab7df8}
.line0{stroke:#4493f8}.line1{stroke:#e3a04f}.line2{stroke:#ab7df8}
}
</style>
`

const (
	width  = 900.0
	margin = 16.0
)

// canvas collects the elements of a drawing.
type canvas struct {
	body   strings.Builder
	height float64
}

// file is the drawing as a file; screen readers read the title instead.
func (c *canvas) file(title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n%s"+
		`<rect class="back" width="100%%" height="100%%" rx="6"/>`+"\n%s</svg>\n",
		width, c.height, html.EscapeString(title), style, c.body.String())
}

func (c *canvas) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&c.body, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, anchor, x, y, html.EscapeString(text))
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.body, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

// legend names the series in a row that begins at x.
func (c *canvas) legend(x, y float64, names []string) {
	for i, name := range names {
		fmt.Fprintf(&c.body, `<rect class="fill%d" x="%.1f" y="%.1f" width="11" height="11" rx="2"/>`+"\n", i, x, y-10)
		c.text("small", "start", x+16, y, name)
		x += 16 + textWidth(name) + 24
	}
}

// textWidth is roughly how wide a text will be: what draws it has a font of its own.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }

// ticks returns round values from 0 to the first that is not below most, some five of them.
func ticks(most float64) []float64 {
	if most <= 0 {
		return []float64{0, 1}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		if most/(step*factor) <= 5 {
			step *= factor
			break
		}
	}
	all := []float64{0}
	for v := step; ; v += step {
		all = append(all, v)
		if v >= most*(1-1e-9) {
			return all
		}
	}
}

// Number writes a figure with thousands apart: 1,234,567; below ten with decimals, where it has some.
func Number(v float64) string {
	if math.Abs(v) < 10 && v != math.Trunc(v) {
		return fmt.Sprintf("%.2g", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

package pages

import (
	"fmt"
	"math"
)

// legible is the least contrast of the shop's colour to the page. It is above WCAG's 4.5 because the colour is also the
// colour of text on its own tint, where the contrast is lower.
const legible = 5.5

// colour is red, green and blue, from 0 to 255.
type colour [3]float64

// accents returns the rules by which a colour, #rrggbb, takes the place of base.css's accent.
func accents(hex string) string {
	var r, g, b uint8
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &r, &g, &b); err != nil {
		return "" // the configuration has checked it
	}
	c := colour{float64(r), float64(g), float64(b)}
	// The pages' background in light and in dark mode is white and paperDark, as in base.css.
	white, black, paperDark := colour{255, 255, 255}, colour{}, colour{0x1d, 0x1f, 0x26}
	light, dark := c.toward(black, white), c.toward(white, paperDark)
	rule := func(name string, inLight, inDark colour) string {
		return fmt.Sprintf("  --%s: light-dark(%s, %s);\n", name, inLight, inDark)
	}
	return "\n:root {\n" + rule("accent", light, dark) +
		rule("accent-deep", light.mix(black, 0.2), dark.mix(white, 0.2)) +
		rule("on-accent", white, black.mix(dark, 0.1)) +
		rule("accent-tint", white.mix(light, 0.08), paperDark.mix(dark, 0.12)) + "}\n"
}

// toward returns the colour, mixed with an end until it is legible on the paper.
func (c colour) toward(end, paper colour) colour {
	for share := 0.0; share < 1; share += 0.02 {
		if m := c.mix(end, share); contrast(m, paper) >= legible {
			return m
		}
	}
	return end
}

// mix returns the colour with a share of another.
func (c colour) mix(other colour, share float64) colour {
	for i := range c {
		c[i] = math.Round(c[i] + (other[i]-c[i])*share)
	}
	return c
}

// contrast is WCAG's contrast ratio of two colours, 1 to 21.
func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is WCAG's relative luminance, 0 to 1.
func (c colour) luminance() float64 {
	var sum float64
	for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", int(c[0]), int(c[1]), int(c[2])) }

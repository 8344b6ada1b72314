package redemption

import (
	"fmt"
	"strconv"

	"rsc.io/qr"
)

// quiet is how many light modules stand around a QR code, at least (ISO/IEC 18004, 5.3.8).
const quiet = 4

// qrPicture returns a text as a QR code in SVG: one path of dark modules on white, whatever the page's colours are.
// It has the error correction Q, for screens with scratches.
func qrPicture(text string) ([]byte, error) {
	code, err := qr.Encode(text, qr.Q)
	if err != nil {
		return nil, fmt.Errorf("drawing a QR code: %w", err)
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + side + ` ` + side +
		`" shape-rendering="crispEdges">` +
		`<path fill="#fff" d="M0 0h` + side + `v` + side + `H0z"/><path d="`)
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for code.Black(x, y) { // beyond the code it is light
				x++
			}
			if x > from {
				svg = fmt.Appendf(svg, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	return append(svg, `"/></svg>`...), nil
}

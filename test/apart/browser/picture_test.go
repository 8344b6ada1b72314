package browser

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// pictures is the directory for pictures; empty: none are taken.
var pictures = flag.String("pictures", "", "write pictures of the pages' states into this `directory`")

// picture saves a picture of the window, or of the whole page.
func (w *window) picture(name string, whole bool) {
	w.tb.Helper()
	if *pictures == "" {
		return
	}
	// Wait for fonts and for transitions to end.
	evaluate[bool](w, "document.fonts.ready.then(() => new Promise(done => setTimeout(() => done(true), 700)))")
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	params := page.CaptureScreenshotParams{}
	if whole {
		height := evaluate[float64](w,
			"Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY)")
		params.CaptureBeyondViewport = &whole
		params.Clip = &page.Viewport{Width: float64(w.device.width), Height: max(height, 400), Scale: 1}
	}
	shot, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (page.CaptureScreenshotResult, error) {
		return cdp.Call(ctx, t, page.CaptureScreenshot, params)
	})
	if err != nil {
		w.tb.Fatalf("taking a picture: %v", err)
	}
	small, err := shrunk(shot.Data)
	if err != nil {
		w.tb.Fatal(err)
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		w.tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), small, 0o644); err != nil {
		w.tb.Fatal(err)
	}
}

// shrunk encodes a picture with its 256 most frequent colours. Pages have few colours, and a repository keeps every
// version of a picture.
func shrunk(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	counts, exact := map[[3]uint8]int{}, map[[3]uint8]color.Color{} // similar colours count as one
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := full.At(x, y)
			r, g, b, _ := c.RGBA()
			alike := [3]uint8{uint8(r >> 10), uint8(g >> 10), uint8(b >> 10)}
			counts[alike]++
			exact[alike] = c
		}
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b [3]uint8) int { return counts[b] - counts[a] })
	palette := make(color.Palette, 0, 256)
	for _, c := range most[:min(len(most), 256)] {
		palette = append(palette, exact[c])
	}
	few := image.NewPaletted(bounds, palette)
	draw.Draw(few, bounds, full, bounds.Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&b, few)
	return b.Bytes(), err
}

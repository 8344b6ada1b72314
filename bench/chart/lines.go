package chart

import (
	"fmt"
	"strings"
)

// Lines are panels over one axis, one below the other.
type Lines struct {
	Title  string
	X      string // what the axis below is
	Panels []Panel
}

// Panel is some lines of the same unit.
type Panel struct {
	Title string
	Lines []Line
}

// Line is a series of points, from left to right.
type Line struct {
	Name   string
	Points [][2]float64
}

const panelHeight = 170.0

// SVG draws them.
func (l Lines) SVG() string {
	last := 0.0
	for _, p := range l.Panels {
		for _, line := range p.Lines {
			for _, point := range line.Points {
				last = max(last, point[0])
			}
		}
	}
	below := ticks(last)
	left, room := margin+80, width-2*margin-110
	at := func(x float64) float64 { return left + room*x/below[len(below)-1] }
	c := &canvas{}
	c.text("title", "start", margin, 28, l.Title)
	y := 40.0
	for i, p := range l.Panels {
		y = c.panel(p, at, below, y, i == len(l.Panels)-1)
	}
	c.text("small", "end", left+room, y+12, l.X)
	c.height = y + 24
	return c.file(l.Title)
}

// panel draws one panel that begins at y and returns where it ends.
func (c *canvas) panel(p Panel, at func(float64) float64, below []float64, y float64, lowest bool) float64 {
	most := 0.0
	names := make([]string, len(p.Lines))
	for i, line := range p.Lines {
		names[i] = line.Name
		for _, point := range line.Points {
			most = max(most, point[1])
		}
	}
	c.text("label", "start", margin, y+14, p.Title)
	c.legend(margin+textWidth(p.Title)+30, y+14, names)
	top, bottom := y+30, y+30+panelHeight
	left := ticks(most)
	up := func(v float64) float64 { return bottom - panelHeight*v/left[len(left)-1] }
	for _, v := range left {
		c.line("grid", at(0), up(v), at(below[len(below)-1]), up(v))
		c.text("small", "end", at(0)-8, up(v)+4, Number(v))
	}
	for _, x := range below {
		c.line("grid", at(x), top, at(x), bottom)
		if lowest {
			c.text("small", "middle", at(x), bottom+18, Number(x))
		}
	}
	for i, line := range p.Lines {
		var points strings.Builder
		for _, point := range line.Points {
			fmt.Fprintf(&points, "%.1f,%.1f ", at(point[0]), up(point[1]))
		}
		fmt.Fprintf(&c.body, `<polyline class="line%d" points="%s"/>`+"\n", i, strings.TrimSpace(points.String()))
	}
	return bottom + 22
}

package chart

import "fmt"

// Bars are horizontal bars from 0, in rows.
type Bars struct {
	Title  string
	Series []string // what the bars of a row are; named in the legend when there are several
	Rows   []Row
	Most   float64 // longer bars are cut off here; 0: the longest decides
	Mark   float64 // a dashed line at this value; 0 for none
	Marked string  // what it says
}

// Row is a label and a bar for each series.
type Row struct {
	Label string
	Bars  []Bar
}

// Bar is a value and its spread. The zero Bar is not drawn.
type Bar struct {
	Value, Low, High float64
	Text             string // beside it; "" for the value
}

const (
	barHeight = 13.0
	rowGap    = 9.0
)

// SVG draws them.
func (b Bars) SVG() string {
	most := b.Most
	if most == 0 {
		for _, row := range b.Rows {
			for _, bar := range row.Bars {
				most = max(most, bar.Value, bar.High)
			}
		}
	}
	scale := ticks(most)
	right := scale[len(scale)-1]
	left := margin + 10 + b.labels()
	room := width - left - b.figures()
	at := func(v float64) float64 { return left + room*min(v, right)/right }
	c := &canvas{}
	c.text("title", "start", margin, 28, b.Title)
	y := 44.0
	if len(b.Series) > 1 {
		c.legend(margin, y+6, b.Series)
		y += 22
	}
	top := y
	var rows, figures canvas
	y += 8
	for _, row := range b.Rows {
		drawn := 0
		for i, bar := range row.Bars {
			if bar != (Bar{}) {
				end := rows.bar(i, at, bar, y+barHeight*float64(drawn))
				figures.text("figure", "start", end+7, y+barHeight*float64(drawn+1)-3, bar.text())
				drawn++
			}
		}
		if drawn == 0 {
			continue
		}
		rows.text("label", "end", left-10, y+barHeight*float64(drawn)/2+4, row.Label)
		y += barHeight*float64(drawn) + rowGap
	}
	for _, v := range scale {
		c.line("grid", at(v), top, at(v), y)
		c.text("small", "middle", at(v), y+16, Number(v))
	}
	c.body.WriteString(rows.body.String())
	if b.Mark > 0 {
		c.line("mark", at(b.Mark), top-4, at(b.Mark), y)
		c.text("small", "middle", at(b.Mark), top-8, b.Marked)
	}
	c.body.WriteString(figures.body.String()) // last: they stand out from the lines that they cross
	c.height = y + 28
	return c.file(b.Title)
}

// labels is how wide the column of labels is.
func (b Bars) labels() float64 {
	widest := 100.0
	for _, row := range b.Rows {
		widest = max(widest, 1.06*textWidth(row.Label)) // larger letters than those of the figures
	}
	return widest
}

// figures is how much room the figures beside the bars need.
func (b Bars) figures() float64 {
	widest := 130.0
	for _, row := range b.Rows {
		for _, bar := range row.Bars {
			widest = max(widest, textWidth(bar.text()))
		}
	}
	return widest + 20
}

func (b Bar) text() string {
	if b.Text == "" {
		return Number(b.Value)
	}
	return b.Text
}

// bar draws a bar and its spread, and returns where they end.
func (c *canvas) bar(series int, at func(float64) float64, bar Bar, y float64) (end float64) {
	fmt.Fprintf(&c.body, `<rect class="fill%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`+"\n",
		series, at(0), y, max(at(bar.Value)-at(0), 1), barHeight-2)
	end = at(bar.Value)
	if bar.High > bar.Low {
		middle := y + (barHeight-2)/2
		c.line("whisker", at(bar.Low), middle, at(bar.High), middle)
		c.line("whisker", at(bar.Low), middle-3, at(bar.Low), middle+3)
		c.line("whisker", at(bar.High), middle-3, at(bar.High), middle+3)
		end = max(end, at(bar.High))
	}
	return end
}

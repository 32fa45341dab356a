package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/check"
)

// The measures of charts, in the units of SVG.
const (
	labelWidth = 170
	plotWidth  = 520
	rowHeight  = 16
)

// chart compares one figure between subjects, in each cell of a family.
type chart struct {
	Title  string
	About  string
	Height int
	Width  int
	Bars   []bar
	Lines  []tick
}

type bar struct {
	Y, Width int
	X        int
	Label    string
	Value    string
	Class    string // by the subject
	TextX    int
	TextY    int
}

type tick struct {
	X    int
	Text string
}

// charts makes a chart for each family of cells: the part of the name before the first slash.
func charts(all []*check.Check, figure, about string) (made []chart) {
	families := map[string][]*check.Check{}
	var order []string
	for _, c := range all {
		if _, ok := c.Values[figure]; c.Kind != "bench" || !ok {
			continue
		}
		family, _, _ := strings.Cut(c.Name, "/")
		if families[family] == nil {
			order = append(order, family)
		}
		families[family] = append(families[family], c)
	}
	for _, family := range order {
		made = append(made, drawn(family, about, figure, families[family]))
	}
	return made
}

func drawn(title, about, figure string, cells []*check.Check) chart {
	scale := 1.0
	if strings.HasPrefix(figure, "bytes") {
		scale = 1.0 / 1024
	}
	most := 0.0
	for _, c := range cells {
		most = max(most, c.Values[figure]*scale)
	}
	if most <= 0 || math.IsInf(most, 0) {
		most = 1
	}
	ch := chart{Title: title, About: about, Width: labelWidth + plotWidth + 80}
	name := ""
	for _, c := range cells {
		if c.Name != name {
			name = c.Name
			ch.Height += 4
		}
		v := c.Values[figure] * scale
		w := int(max(0, v) / most * plotWidth)
		ch.Bars = append(ch.Bars, bar{
			Y: ch.Height, X: labelWidth, Width: w, Label: c.Name + " " + c.Subject, Value: fmt.Sprintf("%.2f", v),
			Class: class(c.Subject), TextX: labelWidth + w + 4, TextY: ch.Height + rowHeight - 5,
		})
		ch.Height += rowHeight
	}
	for _, at := range []float64{0, 0.25, 0.5, 0.75, 1} {
		ch.Lines = append(ch.Lines, tick{labelWidth + int(at*plotWidth), fmt.Sprintf("%.3g", at*most)})
	}
	ch.Height += rowHeight
	return ch
}

// class is the style of a subject.
func class(subject string) string {
	switch {
	case strings.HasPrefix(subject, "floor"):
		return "floor"
	case slices.Contains([]string{"ours", "go-sdk", "mcp-go"}, subject):
		return subject
	}
	return "other"
}

// ranges shows the rates of suites with their intervals.
type ranges struct {
	Height, Width int
	Rows          []row
	Lines         []tick
}

type row struct {
	Y, Low, High, At int
	Label, Value     string
}

func (r *ranges) add(s *results.Summary) {
	if r.Width == 0 {
		r.Width = labelWidth + plotWidth + 80
		for _, p := range []int{0, 25, 50, 75, 100} {
			r.Lines = append(r.Lines, tick{labelWidth + p*plotWidth/100, fmt.Sprint(p, " %")})
		}
		r.Height = rowHeight
	}
	low, high := s.Interval.Low, s.Interval.High
	at := func(v float64) int { return labelWidth + int(min(max(v, 0), 1)*plotWidth) }
	r.Height += rowHeight
	r.Rows = append(r.Rows, row{
		Y: r.Height - rowHeight/2, Low: at(low), High: at(high), At: at(s.Rate), Label: s.Suite,
		Value: fmt.Sprintf("%.1f %% of %d tasks, 95 %%: %.0f–%.0f %%", 100*s.Rate, s.Tasks, 100*low, 100*high),
	})
}
